-- +goose Up

-- The content of captured survey events (management.md §10). An event of a
-- response has a submission key; of the events with the same key, one counts,
-- as sent.
CREATE TABLE survey_event (
	id             integer PRIMARY KEY,
	project_id     integer NOT NULL,
	survey_id      text    NOT NULL,
	uuid           blob    NOT NULL,
	kind           integer NOT NULL, -- 1 shown, 2 dismissed, 3 sent, 4 abandoned
	distinct_id    text    NOT NULL,
	ts             integer NOT NULL,
	submission_key blob,
	counts_as      integer NOT NULL, -- a kind, or 0
	chunk_id       integer,          -- of the survey_chunk in which it counts
	answers        text,
	extra          text
);
CREATE INDEX survey_event_by_distinct_id ON survey_event (project_id, distinct_id);
CREATE INDEX survey_event_by_submission ON survey_event (project_id, survey_id, submission_key) WHERE submission_key IS NOT NULL;
CREATE INDEX survey_event_response ON survey_event (project_id, survey_id, ts, uuid) WHERE counts_as = 3;

-- The events that count, stored again with many to a row, so that they are
-- counted fast. Times are microseconds since 1970.
CREATE TABLE survey_chunk (
	id         integer PRIMARY KEY,
	project_id integer NOT NULL,
	survey_id  text    NOT NULL,
	first_at   integer NOT NULL,
	last_at    integer NOT NULL,
	responses  integer NOT NULL,
	entries    blob    NOT NULL
);
CREATE INDEX survey_chunk_by_survey ON survey_chunk (project_id, survey_id, id, first_at, last_at, responses);

CREATE TABLE survey_response_archive (
	number        integer PRIMARY KEY,
	project_id    integer NOT NULL,
	survey_id     text    NOT NULL,
	response_uuid blob    NOT NULL,
	archived_at   integer NOT NULL,
	UNIQUE (project_id, response_uuid)
);
CREATE INDEX survey_response_archive_by_survey ON survey_response_archive (project_id, survey_id);

-- Progress of reading the events that were stored before these tables existed.
CREATE TABLE survey_backlog (
	done_id integer NOT NULL,
	last_id integer NOT NULL
);
INSERT INTO survey_backlog SELECT 0, coalesce(max(id), 0) FROM event;

-- +goose Down
DROP TABLE survey_backlog;
DROP TABLE survey_response_archive;
DROP TABLE survey_chunk;
DROP TABLE survey_event;
