-- +goose Up

-- The managed data of a project (management.md §14). Lists and other JSON are
-- text.

ALTER TABLE project ADD COLUMN bucketing_hash text NOT NULL DEFAULT '';
CREATE INDEX project_by_previous_secret ON project (secret_token_prev_hash);

CREATE TABLE feature_flag (
	id                           integer PRIMARY KEY AUTOINCREMENT,
	project_id                   integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	internal_kind                integer NOT NULL,
	key                          text    NOT NULL,
	name                         text    NOT NULL,
	filters                      text,
	active                       integer NOT NULL,
	deleted                      integer NOT NULL,
	archived                     integer NOT NULL,
	version                      integer NOT NULL,
	ensure_experience_continuity integer,
	evaluation_runtime           text    NOT NULL,
	bucketing_identifier         text    NOT NULL,
	bucketing_hash               text    NOT NULL,
	is_remote_configuration      integer NOT NULL,
	has_encrypted_payloads       integer NOT NULL,
	has_experiment               integer NOT NULL,
	evaluation_contexts          text,
	tags                         text,
	last_called_at               integer,
	created_by                   integer REFERENCES user_account (id) ON DELETE SET NULL,
	last_modified_by             integer REFERENCES user_account (id) ON DELETE SET NULL,
	created_at                   integer NOT NULL,
	updated_at                   integer NOT NULL
);
CREATE UNIQUE INDEX feature_flag_once ON feature_flag (project_id, key) WHERE deleted = false;
-- For lists; they are filtered by the last columns.
CREATE INDEX feature_flag_listed ON feature_flag (project_id, created_at, id, active, archived) WHERE deleted = false AND internal_kind = 0;
CREATE INDEX feature_flag_by_folded_key ON feature_flag (project_id, lower(key), created_at, id) WHERE deleted = false AND internal_kind = 0;
-- For all flags of a project, and for ON DELETE.
CREATE INDEX feature_flag_by_project ON feature_flag (project_id, id);
CREATE INDEX feature_flag_by_creator ON feature_flag (created_by);
CREATE INDEX feature_flag_by_modifier ON feature_flag (last_modified_by);

CREATE TABLE cohort (
	id               integer PRIMARY KEY AUTOINCREMENT,
	project_id       integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	name             text    NOT NULL,
	description      text    NOT NULL,
	filters          text,
	is_static        integer NOT NULL,
	deleted          integer NOT NULL,
	count            integer,
	last_calculation integer,
	created_by       integer REFERENCES user_account (id) ON DELETE SET NULL,
	created_at       integer NOT NULL
);
CREATE INDEX cohort_by_project ON cohort (project_id, id);
CREATE INDEX cohort_by_creator ON cohort (created_by);

CREATE TABLE early_access_feature (
	number            integer PRIMARY KEY,
	id                text    NOT NULL UNIQUE,
	project_id        integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	feature_flag_id   integer NOT NULL UNIQUE REFERENCES feature_flag (id) ON DELETE CASCADE,
	name              text    NOT NULL,
	description       text    NOT NULL,
	stage             text    NOT NULL,
	documentation_url text    NOT NULL,
	payload           text,
	created_at        integer NOT NULL
);
CREATE INDEX early_access_feature_by_project ON early_access_feature (project_id, created_at, number);

-- A version grows with every change of a project's data; project 0 stands for
-- the list of projects. Versions of a deleted project are deleted with the rest
-- of its data.
CREATE TABLE project_version (
	project_id integer PRIMARY KEY,
	version    integer NOT NULL
);

-- Counts of active users, of active members, and of ordinary flags that are not
-- deleted. Every change keeps them up to date: to count 100,000 rows in an index takes
-- about 10 ms (members, which need the row of each user: 50 to 100 ms), and to read a
-- page of them less than one.
CREATE TABLE user_count (
	is_staff integer PRIMARY KEY,
	users    integer NOT NULL
);
INSERT INTO user_count (is_staff, users)
	SELECT false, count(*) FROM user_account WHERE is_active = true AND is_staff = false
	UNION ALL SELECT true, count(*) FROM user_account WHERE is_active = true AND is_staff = true;

ALTER TABLE organization ADD COLUMN member_count integer NOT NULL DEFAULT 0;
UPDATE organization SET member_count = (
	SELECT count(*) FROM organization_membership m JOIN user_account u ON u.id = m.user_id
	WHERE m.organization_id = organization.id AND u.is_active = true
);

CREATE TABLE flag_count (
	project_id integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	active     integer NOT NULL,
	archived   integer NOT NULL,
	flags      integer NOT NULL,
	PRIMARY KEY (project_id, active, archived)
);

-- +goose Down
DROP TABLE flag_count;
ALTER TABLE organization DROP COLUMN member_count;
DROP TABLE user_count;
DROP TABLE project_version;
DROP TABLE early_access_feature;
DROP TABLE cohort;
DROP TABLE feature_flag;
DROP INDEX project_by_previous_secret;
ALTER TABLE project DROP COLUMN bucketing_hash;
