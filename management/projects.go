package management

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A ProjectView is a project as the API shows it: a Team, and what operators need.
type ProjectView struct {
	TeamView
	AnonymizeIPs bool      `json:"anonymize_ips"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`

	SurveysOptIn               *bool           `json:"surveys_opt_in"`
	HeatmapsOptIn              *bool           `json:"heatmaps_opt_in"`
	SessionRecordingOptIn      *bool           `json:"session_recording_opt_in"`
	AutocaptureExceptionsOptIn *bool           `json:"autocapture_exceptions_opt_in"`
	AutocaptureWebVitalsOptIn  *bool           `json:"autocapture_web_vitals_opt_in"`
	CapturePerformanceOptIn    *bool           `json:"capture_performance_opt_in"`
	CookielessHashMode         *int            `json:"cookieless_server_hash_mode"`
	NetworkCapture             json.RawMessage `json:"session_recording_network_payload_capture_config"`
	AppURLs                    []string        `json:"app_urls"`
	RecordingDomains           []string        `json:"recording_domains"` // nil: null
	EventRetentionDays         *int            `json:"event_retention_days"`
	PostHogRulesOnly           bool            `json:"posthog_rules_only"`

	// SecretToken is the project secret key, only in the answer that makes it.
	SecretToken *string `json:"secret_api_token"`

	HasSecretToken       bool `json:"has_secret_api_token"`
	HasSecretTokenBackup bool `json:"has_secret_api_token_backup"`
}

func showProject(p *storage.Project) *ProjectView {
	return &ProjectView{
		TeamView: *showTeam(p), AnonymizeIPs: p.AnonymizeIPs, CreatedAt: p.Created, UpdatedAt: p.Updated,
		SurveysOptIn: p.SurveysOptIn, HeatmapsOptIn: p.HeatmapsOptIn, SessionRecordingOptIn: p.SessionRecordingOptIn,
		AutocaptureExceptionsOptIn: p.AutocaptureExceptionsOptIn, AutocaptureWebVitalsOptIn: p.AutocaptureWebVitalsOptIn,
		CapturePerformanceOptIn: p.CapturePerformanceOptIn, CookielessHashMode: p.CookielessHashMode, NetworkCapture: rawjson.OrNull(p.NetworkCapture),
		AppURLs: append([]string{}, p.AppURLs...), RecordingDomains: p.RecordingDomains,
		EventRetentionDays: p.EventRetentionDays, PostHogRulesOnly: p.PostHogRulesOnly,
		HasSecretToken: p.SecretHash != "", HasSecretTokenBackup: p.SecretPrevHash != "",
	}
}

// A ProjectPatch makes or changes a project.
type ProjectPatch struct {
	Name              optional.Value[string] `json:"name"`
	Timezone          optional.Value[string] `json:"timezone"`
	AnonymizeIPs      optional.Value[bool]   `json:"anonymize_ips"`
	SnippetOnboarding optional.Value[bool]   `json:"completed_snippet_onboarding"`

	SurveysOptIn               optional.Value[bool]            `json:"surveys_opt_in"`
	HeatmapsOptIn              optional.Value[bool]            `json:"heatmaps_opt_in"`
	SessionRecordingOptIn      optional.Value[bool]            `json:"session_recording_opt_in"`
	AutocaptureExceptionsOptIn optional.Value[bool]            `json:"autocapture_exceptions_opt_in"`
	AutocaptureWebVitalsOptIn  optional.Value[bool]            `json:"autocapture_web_vitals_opt_in"`
	CapturePerformanceOptIn    optional.Value[bool]            `json:"capture_performance_opt_in"`
	CookielessHashMode         optional.Value[int]             `json:"cookieless_server_hash_mode"`
	NetworkCapture             optional.Value[json.RawMessage] `json:"session_recording_network_payload_capture_config"`
	AppURLs                    optional.Value[json.RawMessage] `json:"app_urls"`
	RecordingDomains           optional.Value[json.RawMessage] `json:"recording_domains"`
	EventRetentionDays         optional.Value[int]             `json:"event_retention_days"`
	PostHogRulesOnly           optional.Value[bool]            `json:"posthog_rules_only"`
}

// Limits of the addresses of a project's applications.
const (
	maxAppURLs = 100
	maxAppURL  = 200
)

// readAppURLs reads addresses, which are kept as they are.
func readAppURLs(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
	list, err := check.DecodeList[*string](attr, o)
	if err != nil || list == nil {
		return nil, err
	}
	if len(list) > maxAppURLs {
		return nil, invalid(attr, "max_length", "Ensure this field has no more than %d elements.", maxAppURLs)
	}
	texts := []string{}
	for _, text := range list {
		if text == nil {
			return nil, invalid(attr, "null", "The elements may not be null.")
		}
		if err := judgeError(check.Length(attr, *text, maxAppURL)); err != nil {
			return nil, err
		}
		texts = append(texts, *text)
	}
	return texts, nil
}

// readAppURLsNotNull is readAppURLs for a list that must be there.
func readAppURLsNotNull(attr string, o *optional.Value[json.RawMessage]) ([]string, error) {
	if err := judgeError(check.NotNull(attr, o)); err != nil {
		return nil, err
	}
	return readAppURLs(attr, o)
}

// projectFields is the table of the fields of a project, which needs a name. The patch is nil
// if the table is only for the log.
func projectFields(p *storage.Project, patch *ProjectPatch) field.Table {
	patch = cmp.Or(patch, new(ProjectPatch))
	return field.Table{
		field.Plain("name", &patch.Name, &p.Name, check.RequiredIf(p.Name == "", check.UpTo(check.Title, maxProjectName))),
		field.Plain("timezone", &patch.Timezone, &p.Timezone, checkTimezone),
		field.Plain("anonymize_ips", &patch.AnonymizeIPs, &p.AnonymizeIPs, check.Bool),
		field.Plain("completed_snippet_onboarding", &patch.SnippetOnboarding, &p.SnippetOnboarding, check.Bool),
		field.Nullable("surveys_opt_in", &patch.SurveysOptIn, &p.SurveysOptIn, check.BoolOrNull),
		field.Nullable("heatmaps_opt_in", &patch.HeatmapsOptIn, &p.HeatmapsOptIn, check.BoolOrNull),
		field.Nullable("session_recording_opt_in", &patch.SessionRecordingOptIn, &p.SessionRecordingOptIn, check.BoolOrNull),
		field.Nullable("autocapture_exceptions_opt_in", &patch.AutocaptureExceptionsOptIn, &p.AutocaptureExceptionsOptIn, check.BoolOrNull),
		field.Nullable("autocapture_web_vitals_opt_in", &patch.AutocaptureWebVitalsOptIn, &p.AutocaptureWebVitalsOptIn, check.BoolOrNull),
		field.Nullable("capture_performance_opt_in", &patch.CapturePerformanceOptIn, &p.CapturePerformanceOptIn, check.BoolOrNull),
		field.Nullable("cookieless_server_hash_mode", &patch.CookielessHashMode, &p.CookielessHashMode, check.Between(0, 2)),
		field.Plain("session_recording_network_payload_capture_config", &patch.NetworkCapture, &p.NetworkCapture, checkObjectOrNull),
		field.List("app_urls", &patch.AppURLs, &p.AppURLs, readAppURLsNotNull),
		field.List("recording_domains", &patch.RecordingDomains, &p.RecordingDomains, readAppURLs),
		field.Nullable("event_retention_days", &patch.EventRetentionDays, &p.EventRetentionDays, check.Between(1, maxEventRetention)),
		field.Plain("posthog_rules_only", &patch.PostHogRulesOnly, &p.PostHogRulesOnly, check.Bool),
	}
}

func checkTimezone(attr string, o *optional.Value[string]) error {
	if err := check.Title(attr, o, 64); err != nil || !o.Set {
		return err
	}
	if _, err := time.LoadLocation(o.Value); err != nil || o.Value == "Local" || !timezoneName.MatchString(o.Value) {
		return invalid(attr, "invalid_choice", "%q is not a valid choice.", o.Value)
	}
	return nil
}

// ListProjects returns a page of the projects that the Principal's user can use, by
// ascending ID: the projects of one organization, or of all if ref is empty. It needs
// scope project:read.
func (s *Service) ListProjects(ctx context.Context, p *Principal, ref string, limit, offset int) (*Page[*ProjectView], error) {
	w := s.begin(p)
	var organizations []uuid.UUID
	if ref == "" {
		if err := cmp.Or(p.everywhere(), p.Require("project:read")); err != nil {
			return nil, err
		}
		list, _, err := w.admittingOrganizations(ctx)
		if err != nil {
			return nil, err
		}
		organizations = each(list, func(o *storage.Organization) uuid.UUID { return o.ID })
	} else {
		o, _, err := w.organizationByRef(ctx, ref, storage.LevelMember, "project:read")
		if err != nil {
			return nil, err
		}
		organizations = []uuid.UUID{o.ID}
	}
	all, err := w.store.Projects().List(ctx, storage.ProjectOrganization.In(organizations))
	if err != nil {
		return nil, err
	}
	return &Page[*ProjectView]{len(all), each(pageOf(all, limit, offset), showProject)}, nil
}

// GetProject returns a project. It needs scope project:read.
func (s *Service) GetProject(ctx context.Context, p *Principal, ref string) (*ProjectView, error) {
	w, err := s.beginAt(ctx, p, ref, "project:read")
	if err != nil {
		return nil, err
	}
	return showProject(w.at.Project), nil
}

// CreateProject makes a project in an organization. The answer has its keys; the secret
// key is shown in no other place. It needs scope project:write and the level of an
// administrator.
func (s *Service) CreateProject(ctx context.Context, p *Principal, ref string, patch ProjectPatch) (*ProjectView, error) {
	return answerIn(ctx, s, p, ref, storage.LevelAdmin, "project:write", func(w *work, o *storage.Organization, _ int) (*ProjectView, error) {
		project := storage.NewProject(o, "")
		if err := applyTable(projectFields(project, &patch)); err != nil {
			return nil, err
		}
		secret := storage.NewSecretKey()
		project.SecretHash, project.Created, project.Updated = storage.HashKey(secret), s.now(), s.now()
		if err := w.store.Projects().Create(ctx, project); err != nil {
			return nil, storeError(err)
		}
		view := showProject(project)
		view.SecretToken = &secret
		u, err := w.activeUser(ctx)
		if err != nil {
			return nil, err
		}
		if u.CurrentProject == nil {
			if err := resettleUser(ctx, w.store, u); err != nil {
				return nil, err
			}
		}
		w.changed = append(w.changed, 0)
		return view, w.logProject(ctx, project, "created", nil)
	})
}

func (w *work) logProject(ctx context.Context, project *storage.Project, activity string, changes []field.Change) error {
	return w.addActivity(ctx, storage.Activity{
		Project: &project.ID, Organization: &project.Organization, Activity: activity, Scope: "Project", ItemID: strconv.FormatInt(project.ID, 10),
	}, field.Detail{Name: project.Name, Changes: append([]field.Change{}, changes...)})
}

// changeProject changes a project as f does. It needs scope project:write and the
// level of an administrator.
func (s *Service) changeProject(ctx context.Context, p *Principal, ref string, f func(*work, *storage.Project) error) (*ProjectView, error) {
	return answer(ctx, s, p, func(w *work) (*ProjectView, error) {
		if err := w.enter(ctx, ref, "project:write"); err != nil {
			return nil, err
		}
		if w.at.Level < storage.LevelAdmin {
			return nil, plainForbidden
		}
		if err := f(w, w.at.Project); err != nil {
			return nil, err
		}
		w.changed = append(w.changed, 0)
		return showProject(w.at.Project), nil
	})
}

// saveProject stores a project that has changed.
func (w *work) saveProject(ctx context.Context, changes []field.Change) error {
	w.at.Project.Updated = w.now()
	if err := w.store.Projects().Update(ctx, w.at.Project); err != nil {
		return storeError(err)
	}
	return w.logProject(ctx, w.at.Project, "updated", changes)
}

// UpdateProject changes a project.
func (s *Service) UpdateProject(ctx context.Context, p *Principal, ref string, patch ProjectPatch) (*ProjectView, error) {
	return s.changeProject(ctx, p, ref, func(w *work, project *storage.Project) error {
		before := *project
		if err := applyTable(projectFields(project, &patch)); err != nil {
			return err
		}
		changes := field.Differences("Project", projectFields(&before, nil), projectFields(project, nil))
		if len(changes) == 0 {
			return nil
		}
		return w.saveProject(ctx, changes)
	})
}

// ResetToken gives a project a new API key. The old key becomes invalid.
func (s *Service) ResetToken(ctx context.Context, p *Principal, ref string) (*ProjectView, error) {
	return s.changeProject(ctx, p, ref, func(w *work, project *storage.Project) error {
		change := field.Change{Type: "Project", Field: "api_token", Before: project.APIKey, After: "", Action: "changed"}
		project.APIKey = storage.NewProjectKey()
		change.After = project.APIKey
		return w.saveProject(ctx, []field.Change{change})
	})
}

// RotateSecretToken gives a project a new secret key, which only the answer shows. The
// key before stays valid until [Service.DeleteSecretTokenBackup] or another rotation.
func (s *Service) RotateSecretToken(ctx context.Context, p *Principal, ref string) (*ProjectView, error) {
	secret := storage.NewSecretKey()
	view, err := s.changeProject(ctx, p, ref, func(w *work, project *storage.Project) error {
		project.SecretHash, project.SecretPrevHash = storage.HashKey(secret), project.SecretHash
		return w.saveProject(ctx, []field.Change{{Type: "Project", Field: "secret_api_token", Before: nil, After: nil, Action: "changed"}})
	})
	if err != nil {
		return nil, err
	}
	view.SecretToken = &secret
	return view, nil
}

// DeleteSecretTokenBackup makes the secret key before the current one invalid.
func (s *Service) DeleteSecretTokenBackup(ctx context.Context, p *Principal, ref string) (*ProjectView, error) {
	return s.changeProject(ctx, p, ref, func(w *work, project *storage.Project) error {
		project.SecretPrevHash = ""
		return w.saveProject(ctx, []field.Change{{Type: "Project", Field: "secret_api_token_backup", Before: nil, After: nil, Action: "deleted"}})
	})
}

// DeleteProject deletes a project with everything in it. It needs scope
// project:write and the level of an administrator.
func (s *Service) DeleteProject(ctx context.Context, p *Principal, ref string) error {
	_, err := s.changeProject(ctx, p, ref, func(w *work, project *storage.Project) error {
		if err := w.logProject(ctx, project, "deleted", nil); err != nil {
			return err
		}
		return storeError(w.store.Projects().Delete(ctx, storage.ProjectID.Is(project.ID)))
	})
	return err
}

var timezoneName = regexp.MustCompile(`^[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*$`)
