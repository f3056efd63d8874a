-- +goose Up

-- Stores of the first versions have these tables, but for the last two indexes, and keep them with
-- what is in them.

CREATE TABLE IF NOT EXISTS survey (
	id                           text    PRIMARY KEY,
	project_id                   integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	name                         text    NOT NULL,
	description                  text    NOT NULL,
	type                         text    NOT NULL,
	schedule                     text,
	linked_flag_id               integer REFERENCES feature_flag (id) ON DELETE SET NULL,
	targeting_flag_id            integer REFERENCES feature_flag (id) ON DELETE SET NULL,
	internal_targeting_flag_id   integer REFERENCES feature_flag (id) ON DELETE SET NULL,
	internal_sampling_flag_id    integer REFERENCES feature_flag (id) ON DELETE SET NULL,
	linked_insight_id            integer,
	questions                    text,
	conditions                   text,
	appearance                   text,
	translations                 text,
	form_content                 text,
	base_language                text    NOT NULL,
	start_date                   integer,
	end_date                     integer,
	archived                     integer NOT NULL,
	responses_limit              integer,
	iteration_count              integer,
	iteration_frequency_days     integer,
	iteration_start_dates        text,
	current_iteration            integer,
	current_iteration_start_date integer,
	sampling_start_date          integer,
	sampling_interval_type       text,
	sampling_interval            integer,
	sampling_limit               integer,
	sampling_daily_limits        text,
	enable_partial_responses     integer,
	enable_iframe_embedding      integer,
	headline_summary             text    NOT NULL,
	headline_sample_count        integer NOT NULL,
	headline_response_count      integer NOT NULL,
	question_summaries           text,
	created_by                   integer REFERENCES user_account (id) ON DELETE SET NULL,
	created_at                   integer NOT NULL,
	updated_at                   integer NOT NULL,
	UNIQUE (project_id, name)
);
CREATE INDEX IF NOT EXISTS survey_by_project ON survey (project_id, created_at, id);
CREATE INDEX IF NOT EXISTS survey_scheduled ON survey (created_at, id) WHERE start_date IS NOT NULL AND end_date IS NULL AND archived = false;
-- For ON DELETE.
CREATE INDEX IF NOT EXISTS survey_by_linked_flag ON survey (linked_flag_id);
CREATE INDEX IF NOT EXISTS survey_by_targeting_flag ON survey (targeting_flag_id);
CREATE INDEX IF NOT EXISTS survey_by_internal_flag ON survey (internal_targeting_flag_id);
CREATE INDEX IF NOT EXISTS survey_by_sampling_flag ON survey (internal_sampling_flag_id);
CREATE INDEX IF NOT EXISTS survey_by_creator ON survey (created_by);

-- The content of captured survey events (management.md §10). An event of a
-- response has a submission key; of the events with the same key, one counts,
-- as sent.
CREATE TABLE IF NOT EXISTS survey_event (
	id             integer PRIMARY KEY,
	project_id     integer NOT NULL,
	survey_id      text    NOT NULL,
	uuid           blob    NOT NULL,
	kind           integer NOT NULL, -- 1 shown, 2 dismissed, 3 sent, 4 abandoned
	distinct_id    text    NOT NULL,
	ts             integer NOT NULL,
	submission_key blob,
	counts_as      integer NOT NULL, -- a kind, or 0
	answers        text,
	extra          text
);
CREATE INDEX IF NOT EXISTS survey_event_by_distinct_id ON survey_event (project_id, distinct_id);
CREATE INDEX IF NOT EXISTS survey_event_by_submission ON survey_event (project_id, survey_id, submission_key) WHERE submission_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS survey_event_response ON survey_event (project_id, survey_id, ts, uuid) WHERE counts_as = 3;

CREATE TABLE IF NOT EXISTS survey_response_archive (
	number        integer PRIMARY KEY,
	project_id    integer NOT NULL,
	survey_id     text    NOT NULL,
	response_uuid blob    NOT NULL,
	archived_at   integer NOT NULL,
	UNIQUE (project_id, response_uuid)
);
CREATE INDEX IF NOT EXISTS survey_response_archive_by_survey ON survey_response_archive (project_id, survey_id);

-- Progress of reading the events that were stored before these tables existed.
CREATE TABLE IF NOT EXISTS survey_backlog (
	done_id integer NOT NULL,
	last_id integer NOT NULL
);
INSERT INTO survey_backlog SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM survey_backlog);

-- For statistics, which count events and respondents.
CREATE INDEX IF NOT EXISTS survey_event_counted ON survey_event (project_id, survey_id, distinct_id, counts_as, ts, uuid) WHERE counts_as > 0;

-- For answers: most submissions have a single event, so that this index is small.
CREATE INDEX IF NOT EXISTS survey_event_uncounted ON survey_event (project_id, survey_id, submission_key) WHERE counts_as = 0;

-- What was stored before the store kept surveys is read once.
UPDATE survey_backlog SET done_id = 0, last_id = (SELECT coalesce(max(id), 0) FROM event) WHERE NOT EXISTS (SELECT 1 FROM survey_event);

-- They had events that count stored a second time, whose column chunk_id stays, as SQLite cannot drop it
-- only if it is there.
DROP TABLE IF EXISTS survey_chunk;

-- +goose Down
DROP TABLE survey_backlog;
DROP TABLE survey_response_archive;
DROP TABLE survey_event;
DROP TABLE survey;
