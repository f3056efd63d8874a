package storage

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
)

// An Organization owns projects and has members; usage is counted by organization
// (management.md §8.3). Make one with [NewOrganization].
type Organization struct {
	ID   uuid.UUID
	Name string // 1 to 64 characters
	Slug string // unique; lower-case letters, digits, - and _; at most 48

	LogoMediaID           *uuid.UUID
	PluginsAccessLevel    int // 0 none, 3 config, 6 install, 9 root
	MemberJoinEmail       bool
	Enforce2FA            *bool
	MembersCanInvite      *bool
	MembersCanUseKeys     bool // personal API keys; members below [LevelAdmin]
	PublicSharing         bool
	AIProcessingApproved  *bool
	ExperimentStatsMethod *string // bayesian, frequentist or ""
	AnonymizeIPs          bool    // default for new projects
	DefaultRoleID         *uuid.UUID
	AvailableFeatures     json.RawMessage // a list, or nil
	CustomerID            *string
	Active                *bool
	NotActiveReason       *string // at most 200 characters

	Created time.Time
	Updated time.Time
}

// NewOrganization returns an organization with the defaults of management.md §8.3. Its
// slug is made from the name.
func NewOrganization(name string) *Organization {
	now := Now()
	return &Organization{
		ID: NewID(), Name: name, Slug: SlugOf(name),
		PluginsAccessLevel: 3, MemberJoinEmail: true, MembersCanInvite: new(true), MembersCanUseKeys: true,
		PublicSharing: true, ExperimentStatsMethod: new("bayesian"), AvailableFeatures: json.RawMessage("[]"), Active: new(true),
		Created: now, Updated: now,
	}
}

var notSlug = regexp.MustCompile(`[^a-z0-9_]+`)

// maxSlug is how long slugs are at most, in characters.
const maxSlug = 48

// SlugOf makes a slug from a name: in lower case, with a hyphen for each run of
// characters that slugs cannot have.
func SlugOf(name string) string {
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	slug = strings.TrimRight(slug[:min(len(slug), maxSlug)], "-")
	if slug == "" {
		return "organization"
	}
	return slug
}

// OtherSlug returns the slug to use if another organization has SlugOf(name) already:
// four random characters at its end make it unique.
func OtherSlug(name string) string {
	slug := SlugOf(name)
	return slug[:min(len(slug), maxSlug-5)] + "-" + strings.ToLower(RandomToken(3))[:4]
}

// A Project has flags, events and persons of its own (management.md §8.2). Make
// one with [NewProject].
type Project struct {
	ID           int64 // given by the store
	UUID         uuid.UUID
	Organization uuid.UUID
	Name         string // 1 to 200 characters

	// APIKey is the project API key, phc_ and so on. It is public.
	APIKey string

	// SecretHash is the hash of the project secret key, see [HashKey].
	// SecretPrevHash is the hash of the key before, which is valid until it is
	// deleted. Empty: there is no key.
	SecretHash     string
	SecretPrevHash string

	// Timezone is the zone of dates that name none, such as "Europe/Zurich".
	Timezone string

	// AnonymizeIPs says that events must not keep the client's address.
	AnonymizeIPs bool

	// IngestedEvent is true once an event was captured. Stores set it; they
	// ignore it in updates.
	IngestedEvent bool

	SnippetOnboarding bool
	Onboarding        json.RawMessage // nil: null
	Demo              bool
	AccessControl     bool

	// SurveyConfig is the default appearance of surveys, a JSON object, or nil.
	SurveyConfig json.RawMessage

	// SurveysOptIn says whether surveys are delivered. The other settings are for
	// clients and interfaces: they are kept and have no effect. Nil: null.
	SurveysOptIn               *bool
	HeatmapsOptIn              *bool
	SessionRecordingOptIn      *bool
	AutocaptureExceptionsOptIn *bool
	AutocaptureWebVitalsOptIn  *bool
	CapturePerformanceOptIn    *bool
	CookielessHashMode         *int            // 0 off, 1 without state, 2 with state
	NetworkCapture             json.RawMessage // of session recordings, a JSON object
	AppURLs                    []string        // nil: none
	RecordingDomains           []string

	// EventRetentionDays is for how many days events are kept, 1 to 36,500 (management.md
	// §16.5). Nil: for as long as management.Config.Retain says.
	EventRetentionDays *int

	// BucketingHash is the bucketing hash of new flags: "", sha1 or xxhash64
	// (evaluation.md §2.1).
	BucketingHash string

	// PostHogRulesOnly refuses rule sets that are sent and that PostHog's own evaluation does
	// not support (rules.md §7.5). Those that are stored stay as they are.
	PostHogRulesOnly bool

	// FlagsFile is the file from which the flags and cohorts of the project come, nil if
	// people make them.
	FlagsFile *FlagsFile

	Created time.Time
	Updated time.Time
}

// A FlagsFile is a file of definitions that was imported into a project, and what it says
// beside flags and cohorts.
type FlagsFile struct {
	Name                    string         `json:"name"`
	GroupTypes              map[int]string `json:"group_type_mapping"`
	PropertyMatchingVersion int            `json:"property_matching_version,omitempty"`
	MinimalFlagCalledEvents bool           `json:"minimal_flag_called_events,omitempty"`
}

// Complete adds to definitions what the file says beside flags and cohorts. A nil one says
// nothing.
func (f *FlagsFile) Complete(d *flags.Definitions) {
	if f != nil {
		d.GroupTypes, d.PropertyMatchingVersion, d.MinimalFlagCalledEvents = f.GroupTypes, f.PropertyMatchingVersion, f.MinimalFlagCalledEvents
	}
}

// NewProject returns a project with a new API key.
func NewProject(organization *Organization, name string) *Project {
	now := Now()
	return &Project{
		UUID: NewID(), Organization: organization.ID, Name: name, APIKey: NewProjectKey(), Timezone: "UTC",
		AnonymizeIPs: organization.AnonymizeIPs, Created: now, Updated: now,
	}
}

// Levels of members (management.md §8.3).
const (
	LevelMember = 1
	LevelAdmin  = 8
	LevelOwner  = 15
)

// A Membership makes a user a member of an organization.
type Membership struct {
	ID           uuid.UUID
	Organization uuid.UUID
	User         int64
	Level        int // LevelMember, LevelAdmin or LevelOwner
	Joined       time.Time
	Updated      time.Time
}
