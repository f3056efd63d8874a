-- +goose Up

-- For pages of persons, newest first: UUIDs begin with the time.
CREATE INDEX person_by_project ON person (project_id, id);

-- Distinct IDs of persons that were deleted with their events: events up to
-- last_event, the newest one at that time, are to be deleted. A search reads
-- all events once, in their order, for all distinct IDs that have its number.
-- It has come as far as searched. The number is 0 until it begins.
CREATE TABLE deleted_distinct_id (
	project_id  integer NOT NULL,
	distinct_id text    NOT NULL,
	last_event  integer NOT NULL,
	search      integer NOT NULL DEFAULT 0,
	searched    integer NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, distinct_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE deleted_distinct_id;
DROP INDEX person_by_project;
