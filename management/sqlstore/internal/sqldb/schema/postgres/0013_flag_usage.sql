-- +goose Up

-- How often clients have reported values of flags, by key. A row counts the calls of 32
-- days, of which the first is day period * 32 since 1970.
CREATE TABLE flag_usage (
	project_id bigint NOT NULL,
	flag_key   text NOT NULL,
	period     integer NOT NULL,
	counts     bytea NOT NULL,
	PRIMARY KEY (project_id, flag_key, period)
);

-- What transactions have counted and flag_usage does not have yet.
CREATE TABLE flag_usage_part (
	project_id bigint NOT NULL,
	part       bigint NOT NULL,
	counts     bytea NOT NULL,
	PRIMARY KEY (project_id, part)
);
ALTER TABLE flag_usage ALTER COLUMN counts SET STORAGE MAIN; -- compressed, and beside the key
ALTER TABLE flag_usage_part ALTER COLUMN counts SET STORAGE MAIN;

-- +goose Down
DROP TABLE flag_usage_part;
DROP TABLE flag_usage;
