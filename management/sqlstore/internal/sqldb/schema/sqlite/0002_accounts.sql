-- +goose Up

-- Users and their data (management.md §14). Lists and other JSON are text. The
-- column number has the order in which rows were added.

CREATE TABLE user_account (
	id                            integer PRIMARY KEY AUTOINCREMENT,
	uuid                          text    NOT NULL UNIQUE,
	distinct_id                   text    NOT NULL UNIQUE,
	email                         text    NOT NULL UNIQUE, -- in lower case
	pending_email                 text,
	is_email_verified             integer,
	password_hash                 text,
	first_name                    text    NOT NULL,
	last_name                     text    NOT NULL,
	is_active                     integer NOT NULL,
	is_staff                      integer NOT NULL,
	date_joined                   integer NOT NULL,
	current_organization_id       text    REFERENCES organization (id) ON DELETE SET NULL,
	current_project_id            integer REFERENCES project (id) ON DELETE SET NULL,
	partial_notification_settings text,
	anonymize_data                integer,
	allow_impersonation           integer,
	toolbar_mode                  text,
	events_column_config          text,
	has_seen_product_intro_for    text,
	theme_mode                    text,
	hedgehog_config               text,
	allow_sidebar_suggestions     integer,
	shortcut_position             text,
	role_at_organization          text,
	passkeys_enabled_for_2fa      integer
);
-- For lists of active users, and for their number: all users but the inactive ones.
CREATE INDEX user_account_active ON user_account (is_active, id);
CREATE INDEX user_account_active_staff ON user_account (is_active, is_staff, id);
-- For ON DELETE.
CREATE INDEX user_account_by_organization ON user_account (current_organization_id);
CREATE INDEX user_account_by_project ON user_account (current_project_id);

CREATE TABLE organization_membership (
	number          integer PRIMARY KEY,
	id              text    NOT NULL UNIQUE,
	organization_id text    NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
	user_id         integer NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	level           integer NOT NULL,
	joined_at       integer NOT NULL,
	updated_at      integer NOT NULL,
	UNIQUE (organization_id, user_id)
);
CREATE INDEX organization_membership_by_user ON organization_membership (user_id);

CREATE TABLE personal_api_key (
	number               integer PRIMARY KEY,
	id                   text    NOT NULL UNIQUE,
	user_id              integer NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	label                text    NOT NULL,
	mask_value           text    NOT NULL,
	secure_value         text    NOT NULL UNIQUE, -- a hash
	scopes               text,
	scoped_projects      text,
	scoped_organizations text,
	created_at           integer NOT NULL,
	last_used_at         integer,
	last_rolled_at       integer
);
CREATE INDEX personal_api_key_by_user ON personal_api_key (user_id, created_at);

CREATE TABLE user_totp (
	user_id       integer PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
	secret        blob    NOT NULL,
	drift         integer NOT NULL,
	last_step     integer NOT NULL,
	failure_count integer NOT NULL,
	failure_at    integer,
	created_at    integer NOT NULL
);

CREATE TABLE user_totp_pending (
	user_id    integer PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
	secret     blob    NOT NULL,
	attempts   integer NOT NULL,
	expires_at integer NOT NULL
);

CREATE TABLE user_backup_code (
	number     integer PRIMARY KEY,
	user_id    integer NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	code_hmac  blob    NOT NULL,
	code       blob,
	created_at integer NOT NULL,
	UNIQUE (user_id, code_hmac)
);

CREATE TABLE email_token (
	user_id      integer PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
	token_hash   blob    NOT NULL,
	code_hmac    blob,
	target_email text    NOT NULL,
	attempts     integer NOT NULL,
	created_at   integer NOT NULL,
	expires_at   integer NOT NULL
);

CREATE TABLE user_scene_personalisation (
	number       integer PRIMARY KEY,
	user_id      integer NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	project_id   integer NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	scene        text    NOT NULL,
	dashboard_id integer NOT NULL,
	UNIQUE (user_id, project_id, scene)
);
CREATE INDEX user_scene_personalisation_by_project ON user_scene_personalisation (project_id);

-- Log entries outlive the things that they are about.
CREATE TABLE activity_log (
	number           integer PRIMARY KEY,
	id               text    NOT NULL UNIQUE,
	project_id       integer,
	organization_id  text,
	user_id          integer REFERENCES user_account (id) ON DELETE SET NULL,
	is_system        integer NOT NULL,
	was_impersonated integer NOT NULL,
	activity         text    NOT NULL,
	scope            text    NOT NULL,
	item_id          text    NOT NULL,
	detail           text,
	created_at       integer NOT NULL
);
CREATE INDEX activity_log_by_scope ON activity_log (project_id, scope, created_at);
CREATE INDEX activity_log_by_item ON activity_log (project_id, scope, item_id, created_at);
CREATE INDEX activity_log_by_organization ON activity_log (organization_id, scope, created_at);
CREATE INDEX activity_log_by_time ON activity_log (created_at);
CREATE INDEX activity_log_by_user ON activity_log (user_id);

-- A bucket that is full again equals a missing one.
CREATE TABLE throttle (
	bucket  text    PRIMARY KEY,
	full_at integer NOT NULL
) WITHOUT ROWID;
CREATE INDEX throttle_by_time ON throttle (full_at);

-- Deleted projects whose events, persons and so on are not all deleted yet.
CREATE TABLE deleted_project (
	project_id integer PRIMARY KEY,
	deleted_at integer NOT NULL
);

-- +goose Down
DROP TABLE deleted_project;
DROP TABLE throttle;
DROP TABLE activity_log;
DROP TABLE user_scene_personalisation;
DROP TABLE email_token;
DROP TABLE user_backup_code;
DROP TABLE user_totp_pending;
DROP TABLE user_totp;
DROP TABLE personal_api_key;
DROP TABLE organization_membership;
DROP TABLE user_account;
