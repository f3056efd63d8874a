-- +goose Up

-- Times are microseconds since 1970 in UTC. The UUIDs of events and persons are
-- their 16 bytes.

CREATE TABLE organization (
	id                                text    PRIMARY KEY,
	name                              text    NOT NULL,
	slug                              text    NOT NULL UNIQUE,
	logo_media_id                     text,
	plugins_access_level              integer NOT NULL DEFAULT 3,
	is_member_join_email_enabled      integer NOT NULL DEFAULT 1,
	enforce_2fa                       integer,
	members_can_invite                integer DEFAULT 1,
	members_can_use_personal_api_keys integer NOT NULL DEFAULT 1,
	allow_publicly_shared_resources   integer NOT NULL DEFAULT 1,
	is_ai_data_processing_approved    integer,
	default_experiment_stats_method   text    DEFAULT 'bayesian',
	default_anonymize_ips             integer NOT NULL DEFAULT 0,
	default_role_id                   text,
	available_product_features        text    DEFAULT '[]',
	customer_id                       text,
	is_active                         integer DEFAULT 1,
	is_not_active_reason              text,
	created_at                        integer NOT NULL,
	updated_at                        integer NOT NULL
);

CREATE TABLE project (
	id                           integer PRIMARY KEY AUTOINCREMENT,
	uuid                         text    NOT NULL UNIQUE,
	organization_id              text    NOT NULL REFERENCES organization (id),
	name                         text    NOT NULL,
	api_token                    text    NOT NULL UNIQUE,
	secret_token_hash            text    UNIQUE,
	secret_token_prev_hash       text,
	completed_snippet_onboarding integer NOT NULL DEFAULT 0,
	has_completed_onboarding_for text,
	ingested_event               integer NOT NULL DEFAULT 0,
	is_demo                      integer NOT NULL DEFAULT 0,
	timezone                     text    NOT NULL DEFAULT 'UTC',
	access_control               integer NOT NULL DEFAULT 0,
	anonymize_ips                integer NOT NULL DEFAULT 0,
	survey_config                text,
	created_at                   integer NOT NULL,
	updated_at                   integer NOT NULL
);
CREATE INDEX project_by_organization ON project (organization_id, id);

-- An event is identified by its project, its UUID, and a hash of its date, name
-- and distinct ID. The day comes before the UUID so that new entries of the
-- index are neighbours, even if the UUIDs are random.
CREATE TABLE event (
	id          integer PRIMARY KEY,
	project_id  integer NOT NULL,
	uuid        blob    NOT NULL,
	hash        integer NOT NULL,
	name        text    NOT NULL,
	distinct_id text    NOT NULL,
	ts          integer NOT NULL,
	received_at integer NOT NULL,
	properties  text    NOT NULL
);
CREATE UNIQUE INDEX event_once ON event (project_id, ts / 86400000000, uuid, hash);

CREATE TABLE person (
	id            blob    PRIMARY KEY,
	project_id    integer NOT NULL,
	properties    text    NOT NULL,
	is_identified integer NOT NULL,
	created_at    integer NOT NULL
) WITHOUT ROWID;

CREATE TABLE person_distinct_id (
	project_id  integer NOT NULL,
	distinct_id text    NOT NULL,
	person_id   blob    NOT NULL,
	PRIMARY KEY (project_id, distinct_id)
) WITHOUT ROWID;
CREATE INDEX person_distinct_id_by_person ON person_distinct_id (person_id);

CREATE TABLE group_type (
	project_id integer NOT NULL,
	type_index integer NOT NULL,
	name       text    NOT NULL,
	PRIMARY KEY (project_id, type_index),
	UNIQUE (project_id, name)
) WITHOUT ROWID;

CREATE TABLE group_entry (
	project_id integer NOT NULL,
	type_index integer NOT NULL,
	group_key  text    NOT NULL,
	properties text    NOT NULL,
	created_at integer NOT NULL,
	PRIMARY KEY (project_id, type_index, group_key)
) WITHOUT ROWID;

CREATE TABLE hash_key_override (
	person_id blob NOT NULL,
	flag_key  text NOT NULL,
	hash_key  text NOT NULL,
	PRIMARY KEY (person_id, flag_key)
) WITHOUT ROWID;

CREATE TABLE cohort_member (
	project_id integer NOT NULL,
	cohort_id  integer NOT NULL,
	person_id  blob    NOT NULL,
	PRIMARY KEY (project_id, cohort_id, person_id)
) WITHOUT ROWID;
CREATE INDEX cohort_member_by_person ON cohort_member (person_id);

CREATE TABLE usage_counter (
	organization_id text    NOT NULL,
	resource        text    NOT NULL,
	period          text    NOT NULL,
	used            integer NOT NULL,
	PRIMARY KEY (organization_id, resource, period)
) WITHOUT ROWID;

CREATE TABLE usage_limit (
	organization_id text    NOT NULL,
	resource        text    NOT NULL,
	most            integer NOT NULL,
	PRIMARY KEY (organization_id, resource)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE usage_limit;
DROP TABLE usage_counter;
DROP TABLE cohort_member;
DROP TABLE hash_key_override;
DROP TABLE group_entry;
DROP TABLE group_type;
DROP TABLE person_distinct_id;
DROP TABLE person;
DROP TABLE event;
DROP TABLE project;
DROP TABLE organization;
