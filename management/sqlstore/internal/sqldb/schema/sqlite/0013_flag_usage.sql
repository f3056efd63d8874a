-- +goose Up

-- How often clients have reported values of flags, by key. A row counts the calls of 32
-- days, of which the first is day period * 32 since 1970.
CREATE TABLE flag_usage (
	project_id integer NOT NULL,
	flag_key   text NOT NULL,
	period     integer NOT NULL,
	counts     blob NOT NULL,
	PRIMARY KEY (project_id, flag_key, period)
) WITHOUT ROWID;

-- What transactions have counted and flag_usage does not have yet.
CREATE TABLE flag_usage_part (
	project_id integer NOT NULL,
	part       integer NOT NULL,
	counts     blob NOT NULL,
	PRIMARY KEY (project_id, part)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE flag_usage_part;
DROP TABLE flag_usage;
