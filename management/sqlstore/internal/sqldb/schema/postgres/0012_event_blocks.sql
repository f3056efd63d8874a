-- +goose Up

-- What is in events that were stored one after the other: their IDs, their
-- times in microseconds since 1970, and a Bloom filter of their projects,
-- names and distinct IDs. Searches for events skip blocks by it. Newer events
-- are in no block yet.
CREATE TABLE event_block (
	first_id bigint PRIMARY KEY,
	last_id  bigint NOT NULL,
	oldest   bigint NOT NULL,
	newest   bigint NOT NULL,
	filter   bytea  NOT NULL
);
-- For the last block.
CREATE INDEX event_block_by_last ON event_block (last_id);
-- For the newest events before a time.
CREATE INDEX event_block_by_time ON event_block (newest, first_id, oldest, last_id);

-- +goose Down
DROP TABLE event_block;
