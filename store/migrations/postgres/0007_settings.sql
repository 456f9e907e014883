-- Versions of the settings that are changed at run time: the layer between file and environment.
ALTER TABLE settings_versions ADD COLUMN base bigint NOT NULL DEFAULT 0; -- the version that it was made of; 0: there was none
ALTER TABLE settings_versions ADD COLUMN layer text NOT NULL DEFAULT '{}'; -- JSON: key → text, all of it after the change
ALTER TABLE settings_versions ADD COLUMN undoes bigint; -- the version whose changes it takes back
ALTER TABLE settings_versions ADD COLUMN conversation text NOT NULL DEFAULT ''; -- the session's key where it has to be confirmed
ALTER TABLE settings_versions ADD COLUMN confirm_by bigint; -- µs by the database's clock; it counts no longer unless it was confirmed
ALTER TABLE settings_versions ADD COLUMN confirmed_at bigint; -- µs
ALTER TABLE settings_versions ADD COLUMN lapsed_at bigint; -- µs, when it was found that nobody did, or it was taken back
