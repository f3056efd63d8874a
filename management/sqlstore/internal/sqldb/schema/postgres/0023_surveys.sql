-- +goose Up

-- Surveys have their tables by themselves (surveys/migrations), also those that migrations 3 and 4
-- made in older stores.
SELECT 1;

-- +goose Down
