package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
)

// A Publication is what clients can fetch of a project besides the values of its
// flags.
type Publication struct {
	Project int64
	APIKey  string

	// Definitions are for clients that evaluate by themselves. They must not
	// be changed. Nil: there are none yet.
	Definitions *flags.Definitions

	// Hide reports which flags are left out of them. Nil: none.
	Hide func(*flags.Flag) bool

	// Surveys are those that are not archived, as management.md §12 has them,
	// and SurveyConfig is their common appearance; nil: none, and null.
	Surveys      []json.RawMessage
	SurveyConfig json.RawMessage

	// EarlyAccess are the early access features.
	EarlyAccess []EarlyAccessFeature

	// Members are client configuration, as [NewClientConfig] takes them.
	Members map[string]any
}

// An EarlyAccessFeature is something that persons can enrol in, as wire.md §4.4
// has it.
type EarlyAccessFeature struct {
	Stage string
	JSON  json.RawMessage
}

// Published is a [Publication] as it is sent: rendered once, whoever asks how
// often. It is safe for concurrent use.
type Published struct {
	definitions, inlined func() (document, error) // nil: there are none
	surveys              document
	earlyAccess          []EarlyAccessFeature
	config, script       document
	client               ClientConfig
}

// A document is a body with its entity tag, which depends on nothing else.
type document struct {
	body []byte
	etag string
}

func newDocument(body []byte) document {
	return document{body, `W/"` + strconv.FormatUint(xxhash.Sum64(body), 16) + `"`}
}

// Publish renders a Publication. Definitions are rendered when somebody asks for
// them first. The error is about JSON that is none.
func Publish(p Publication) (*Published, error) {
	out := &Published{earlyAccess: slices.Clone(p.EarlyAccess)}
	if p.Definitions != nil {
		render := func(inline bool) func() (document, error) {
			return sync.OnceValues(func() (document, error) {
				body, err := wire.AppendDefinitions(nil, p.Definitions, wire.DefinitionsOptions{
					Project: p.Project, InlineCohorts: inline, Hide: p.Hide,
				})
				return newDocument(body), err
			})
		}
		out.definitions, out.inlined = render(false), render(true)
	}
	surveys := append([]json.RawMessage{}, p.Surveys...)
	body, err := encode(struct {
		Surveys []json.RawMessage `json:"surveys"`
		Config  json.RawMessage   `json:"survey_config"`
	}{surveys, p.SurveyConfig})
	if err != nil {
		return nil, fmt.Errorf("server: surveys: %w", err)
	}
	out.surveys = newDocument(body)

	members := map[string]any{"surveys": len(surveys) > 0, "survey_config": p.SurveyConfig}
	for name, value := range p.Members {
		members[name] = value
	}
	if out.client, err = NewClientConfig(members); err != nil {
		return nil, err
	}
	return out, out.renderConfig(p, members, surveys)
}

// renderConfig renders what browsers fetch before all else (wire.md §4.1).
func (out *Published) renderConfig(p Publication, members map[string]any, surveys []json.RawMessage) error {
	members["token"] = p.APIKey
	if _, ok := p.Members["surveys"]; !ok && len(surveys) > 0 {
		members["surveys"] = surveys
	}
	config, err := renderConfig(members, compressionOfDecide)
	if err != nil {
		return err
	}
	config = append(append([]byte{'{'}, config...), '}')
	out.config = newDocument(config)

	// What a page must not take for markup, or for the end of a line, is escaped.
	var script bytes.Buffer
	script.WriteString("(function(c){var all=window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};all[c.token]={config:c,siteApps:[]}})(")
	json.HTMLEscape(&script, config)
	script.WriteString(");\n")
	out.script = newDocument(script.Bytes())
	return nil
}

// Client returns the configuration for [Project.ClientConfig].
func (out *Published) Client() ClientConfig { return out.client }

// stages returns the early access features at any of the stages.
func (out *Published) stages(stages []string) []json.RawMessage {
	list := []json.RawMessage{}
	for _, f := range out.earlyAccess {
		if slices.Contains(stages, f.Stage) {
			list = append(list, f.JSON)
		}
	}
	return list
}
