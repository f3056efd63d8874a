-- +goose Up

-- Filters as clients have sent them, for clients; NULL: the normal form in filters.
ALTER TABLE feature_flag ADD COLUMN filters_sent text;
ALTER TABLE cohort ADD COLUMN filters_sent text;

-- How many of its evaluation contexts a flag asks for: any or all.
ALTER TABLE feature_flag ADD COLUMN evaluation_contexts_match_mode text NOT NULL DEFAULT 'any';

-- +goose Down
ALTER TABLE feature_flag DROP COLUMN evaluation_contexts_match_mode;
ALTER TABLE cohort DROP COLUMN filters_sent;
ALTER TABLE feature_flag DROP COLUMN filters_sent;
