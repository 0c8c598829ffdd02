// The page on which people log in: it works without this, which lets them choose its colours.
import { startTheme } from "./theme.js";

startTheme();
