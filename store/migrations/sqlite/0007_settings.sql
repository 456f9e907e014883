-- Versions of the settings that are changed at run time: the layer between file and environment.
ALTER TABLE settings_versions ADD COLUMN base INTEGER NOT NULL DEFAULT 0; -- the version that it was made of; 0: there was none
ALTER TABLE settings_versions ADD COLUMN layer TEXT NOT NULL DEFAULT '{}'; -- JSON: key → text, all of it after the change
ALTER TABLE settings_versions ADD COLUMN undoes INTEGER; -- the version whose changes it takes back
ALTER TABLE settings_versions ADD COLUMN conversation TEXT NOT NULL DEFAULT ''; -- the session's key where it has to be confirmed
ALTER TABLE settings_versions ADD COLUMN confirm_by INTEGER; -- µs by the database's clock; it counts no longer unless it was confirmed
ALTER TABLE settings_versions ADD COLUMN confirmed_at INTEGER; -- µs
ALTER TABLE settings_versions ADD COLUMN lapsed_at INTEGER; -- µs, when it was found that nobody did, or it was taken back
