// Epochs as people call them. All times are UTC: epochs are.

const day = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" });
const hour = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" });

const HOUR = 3600;
const DAY = 86400;
const LAST = 253402300800; // the year 10000

export function epochWord(seconds, number = 1) {
  const one = seconds === HOUR ? "hour" : seconds === DAY ? "day" : "week";
  return number === 1 ? one : `${number} ${one}s`;
}

export function epochStart(epoch, seconds) {
  return new Date(epoch * seconds * 1000);
}

export function epochName(epoch, seconds) {
  const start = epochStart(epoch, seconds);
  if (seconds === HOUR) return `${day.format(start)}, ${hour.format(start)} UTC`;
  if (seconds === DAY) return day.format(start);
  return `week of ${day.format(start)}`;
}

export function windowName(estimate, seconds) {
  const { firstEpoch, lastEpoch } = estimate;
  if (firstEpoch === lastEpoch) return epochName(lastEpoch, seconds);
  return `${epochName(firstEpoch, seconds)} to ${epochName(lastEpoch, seconds)}`;
}

// An epoch as questions and addresses name it: by its day, or by its hour; a week by its first day. None beyond what
// calendars have.
export function epochDay(epoch, seconds) {
  if (!(epoch * seconds < LAST)) return undefined;
  const written = epochStart(epoch, seconds).toISOString();
  return seconds < DAY ? `${written.slice(0, 13)}:00` : written.slice(0, 10);
}
