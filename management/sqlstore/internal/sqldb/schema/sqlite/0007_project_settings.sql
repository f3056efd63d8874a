-- +goose Up

-- Settings of projects. NULL is null. The lists are JSON.
ALTER TABLE project ADD COLUMN surveys_opt_in integer;
ALTER TABLE project ADD COLUMN heatmaps_opt_in integer;
ALTER TABLE project ADD COLUMN session_recording_opt_in integer;
ALTER TABLE project ADD COLUMN autocapture_exceptions_opt_in integer;
ALTER TABLE project ADD COLUMN autocapture_web_vitals_opt_in integer;
ALTER TABLE project ADD COLUMN capture_performance_opt_in integer;
ALTER TABLE project ADD COLUMN cookieless_server_hash_mode integer;
ALTER TABLE project ADD COLUMN session_recording_network_payload_capture_config text;
ALTER TABLE project ADD COLUMN app_urls text;
ALTER TABLE project ADD COLUMN recording_domains text;

-- +goose Down
ALTER TABLE project DROP COLUMN recording_domains;
ALTER TABLE project DROP COLUMN app_urls;
ALTER TABLE project DROP COLUMN session_recording_network_payload_capture_config;
ALTER TABLE project DROP COLUMN cookieless_server_hash_mode;
ALTER TABLE project DROP COLUMN capture_performance_opt_in;
ALTER TABLE project DROP COLUMN autocapture_web_vitals_opt_in;
ALTER TABLE project DROP COLUMN autocapture_exceptions_opt_in;
ALTER TABLE project DROP COLUMN session_recording_opt_in;
ALTER TABLE project DROP COLUMN heatmaps_opt_in;
ALTER TABLE project DROP COLUMN surveys_opt_in;
