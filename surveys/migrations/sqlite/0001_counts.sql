-- +goose Up

-- The tables survey, survey_event, survey_response_archive and survey_backlog are older than
-- these migrations: migrations 3 and 4 of the store have made them.

-- For statistics, which count events and respondents.
CREATE INDEX survey_event_counted ON survey_event (project_id, survey_id, distinct_id, counts_as, ts, uuid) WHERE counts_as > 0;

-- For answers: most submissions have a single event, so that this index is small.
CREATE INDEX survey_event_uncounted ON survey_event (project_id, survey_id, submission_key) WHERE counts_as = 0;

-- What was stored before the store kept surveys is read once.
UPDATE survey_backlog SET done_id = 0, last_id = (SELECT coalesce(max(id), 0) FROM event) WHERE NOT EXISTS (SELECT 1 FROM survey_event);

-- +goose Down
DROP INDEX survey_event_uncounted;
DROP INDEX survey_event_counted;
