-- +goose Up

-- For pages of persons, newest first: UUIDs begin with the time.
CREATE INDEX person_by_project ON person (project_id, id);

-- Distinct IDs of persons who were deleted with their events: those up to
-- last_event, the newest one at that time, are to be deleted. A search looks
-- through all events once, in their order, for all distinct IDs that have its
-- number, and has come as far as searched says. 0: it has not begun.
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
