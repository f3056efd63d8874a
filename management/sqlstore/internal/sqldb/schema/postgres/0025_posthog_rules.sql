-- +goose Up

-- Whether rule sets that PostHog does not evaluate are refused.
ALTER TABLE project ADD COLUMN posthog_rules_only boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE project DROP COLUMN posthog_rules_only;
