-- +goose Up

-- The older version whose content this version of the flag has again; NULL: none.
ALTER TABLE feature_flag ADD COLUMN reverted_to integer;

-- Flags as they were in each version, for the history of a flag and to go back. They do
-- not refer to their flag: the deletion of a project would wait for all of them.
CREATE TABLE feature_flag_version (
	project_id                     integer NOT NULL,
	flag_id                        integer NOT NULL,
	version                        integer NOT NULL,
	internal_kind                  integer NOT NULL,
	key                            text NOT NULL,
	name                           text NOT NULL,
	filters                        text,
	filters_sent                   text,
	active                         integer NOT NULL,
	deleted                        integer NOT NULL,
	archived                       integer NOT NULL,
	ensure_experience_continuity   integer,
	evaluation_runtime             text NOT NULL,
	bucketing_identifier           text NOT NULL,
	bucketing_hash                 text NOT NULL,
	is_remote_configuration        integer NOT NULL,
	has_encrypted_payloads         integer NOT NULL,
	has_experiment                 integer NOT NULL,
	evaluation_contexts            text,
	evaluation_contexts_match_mode text NOT NULL,
	tags                           text,
	reverted_to                    integer,
	last_modified_by               integer REFERENCES user_account (id) ON DELETE SET NULL,
	updated_at                     integer NOT NULL,
	PRIMARY KEY (project_id, flag_id, version)
);
-- For ON DELETE.
CREATE INDEX feature_flag_version_by_modifier ON feature_flag_version (last_modified_by);

-- The first version that is known of flags already there is the one that they have.
INSERT INTO feature_flag_version (
	project_id, flag_id, version, internal_kind, key, name, filters, filters_sent, active, deleted, archived, ensure_experience_continuity, evaluation_runtime, bucketing_identifier, bucketing_hash, is_remote_configuration, has_encrypted_payloads, has_experiment, evaluation_contexts, evaluation_contexts_match_mode, tags, reverted_to, last_modified_by, updated_at
) SELECT
	project_id, id, version, internal_kind, key, name, filters, filters_sent, active, deleted, archived, ensure_experience_continuity, evaluation_runtime, bucketing_identifier, bucketing_hash, is_remote_configuration, has_encrypted_payloads, has_experiment, evaluation_contexts, evaluation_contexts_match_mode, tags, reverted_to, last_modified_by, updated_at
FROM feature_flag;

-- +goose Down
DROP TABLE feature_flag_version;
ALTER TABLE feature_flag DROP COLUMN reverted_to;
