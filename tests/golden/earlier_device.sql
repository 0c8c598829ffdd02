BEGIN TRANSACTION;
CREATE TABLE charge (
        start INTEGER, metric TEXT, collection TEXT, seconds INTEGER NOT NULL,
        cost INTEGER NOT NULL, share INTEGER NOT NULL, reserve INTEGER NOT NULL,
        delta_cost INTEGER NOT NULL, delta_share INTEGER NOT NULL, delta_reserve INTEGER NOT NULL,
        PRIMARY KEY (start, metric, collection)) WITHOUT ROWID;
INSERT INTO "charge" VALUES(1728000000,'often','earlier',86400,1000000000000,1000000000000,1000000000000,0,0,0);
INSERT INTO "charge" VALUES(1728000000,'theme','earlier',86400,1000000000000,1000000000000,3000000000000,0,0,0);
CREATE TABLE health (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "health" VALUES('answered',2);
CREATE TABLE ledger (
        collection TEXT, start INTEGER, metric TEXT, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
        share INTEGER NOT NULL, reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, start, metric), CHECK (0)) WITHOUT ROWID;
CREATE TABLE memo (
        number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, question BLOB NOT NULL, place INTEGER NOT NULL,
        remembered BLOB NOT NULL);
INSERT INTO "memo" VALUES(1,X'03B6A4567F32788AC1A44C1203EB4B17FAED6F72498641354CD0E69BE6CD5D98',X'109B796EC6BB8A75C494F1223CDD245AC69BF01FF33BEA995710E8D6ECB5A50F',0,X'');
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('asked earlier','{"owner": "o", "questions": {"often": "How ofen it was opened", "theme": "The theme"}, "epoch": 9.0, "lifetime": null, "epoch_delta": 1e-05, "lifetime_delta": 0.001}');
INSERT INTO "meta" VALUES('secret',X'D69F3A3B7A6D9D015E5E4E955BA86016C64C2BD52EA8D98A11068C610B9687AB');
CREATE TABLE question (metric TEXT, question BLOB, PRIMARY KEY (metric, question)) WITHOUT ROWID;
INSERT INTO "question" VALUES('theme',X'109B796EC6BB8A75C494F1223CDD245AC69BF01FF33BEA995710E8D6ECB5A50F');
CREATE TABLE queue (
        batch_id BLOB PRIMARY KEY, collection TEXT NOT NULL, request BLOB NOT NULL, due REAL NOT NULL, ends INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, unanswered INTEGER NOT NULL DEFAULT 1) WITHOUT ROWID;
INSERT INTO "queue" VALUES(X'D94990CDE5568E02E8CEA52DB8696E04','earlier',X'0A10D94990CDE5568E02E8CEA52DB8696E04113485F404633E965218A09C012A1004000000000000000000000000000100',1728086400.0,1728086400,0,0);
CREATE TABLE raw (
        collection TEXT, digest TEXT, metric TEXT, epoch INTEGER, ends INTEGER NOT NULL, state TEXT NOT NULL,
        PRIMARY KEY (collection, digest, metric, epoch)) WITHOUT ROWID;
INSERT INTO "raw" VALUES('earlier','52963e6304f48534','often',20001,1728172800,'4');
INSERT INTO "raw" VALUES('earlier','52963e6304f48534','theme',20001,1728172800,'"b"');
CREATE TABLE settled (
        collection TEXT, metric TEXT, ends INTEGER NOT NULL, cost INTEGER NOT NULL, reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, metric)) WITHOUT ROWID;
CREATE TABLE settled_charge (
        collection TEXT, metric TEXT, ends INTEGER NOT NULL, cost INTEGER NOT NULL, reserve INTEGER NOT NULL,
        delta_cost INTEGER NOT NULL, delta_reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, metric)) WITHOUT ROWID;
CREATE TABLE transcript (
        number INTEGER PRIMARY KEY, batch_id BLOB, fate TEXT NOT NULL, collection TEXT NOT NULL, metric TEXT NOT NULL,
        start INTEGER NOT NULL, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
        answer TEXT NOT NULL, conclusion TEXT NOT NULL, delta_cost INTEGER NOT NULL DEFAULT 0);
INSERT INTO "transcript" VALUES(1,X'D94990CDE5568E02E8CEA52DB8696E04','waiting','earlier','often',1728000000,86400,1000000000000,'2, noise included','of two answers to be confused, neither leads to this more than 2.72 times as often as the other; who held an answer to be an even bet is at most 3 in 4 sure of it then; of which device it is from, it tells someone who sees the same answer again and again at most 1.4 bits',0);
INSERT INTO "transcript" VALUES(2,X'D94990CDE5568E02E8CEA52DB8696E04','waiting','earlier','theme',1728000000,86400,1000000000000,'''a''','devices with any other answer send this 21% of the time, those with this one 58%; who held an answer to be an even bet is at most 3 in 4 sure of it then; the same is sent every time, which tells this device from 1.4 others with its answer',0);
COMMIT;
PRAGMA user_version = 3;
PRAGMA application_id = 1156127409;
