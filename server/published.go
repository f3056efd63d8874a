package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Publication is what clients can fetch of a project besides the values of its
// flags.
type Publication struct {
	Project int64
	APIKey  string // with which clients usually ask

	// Definitions are for clients that evaluate by themselves. They must not
	// be changed. Nil: there are none yet.
	Definitions *flags.Definitions

	// Hide reports which flags the definitions leave out. Nil: none.
	Hide func(*flags.Flag) bool

	// Surveys are the surveys that are not archived, in the form of management.md
	// §12. SurveyConfig is their common appearance. Nil: there are no surveys, and
	// the appearance is null.
	Surveys      []json.RawMessage
	SurveyConfig json.RawMessage

	// EarlyAccess are the early access features. A client gets the features at the
	// stages that it asks for, or at beta.
	EarlyAccess []EarlyAccessFeature

	// Members are client configuration, as in [NewClientConfig]. They replace
	// surveys and survey_config, which follow from the fields above.
	Members map[string]any
}

// An EarlyAccessFeature is a feature in which persons can enrol, in the form of
// wire.md §4.4.
type EarlyAccessFeature struct {
	Stage string
	JSON  json.RawMessage
}

// Published is a rendered [Publication], which any number of requests can fetch. It
// is safe for concurrent use.
type Published struct {
	definitions, inlined func() (document, error) // nil: there are none
	ruleSets             func() (document, error) // definitions, for clients that know rule sets
	surveys              document
	earlyAccess          []EarlyAccessFeature
	beta                 document // the features of earlyAccess at that stage
	client               ClientConfig

	// members are the members of config except the token.
	members        []byte
	apiKey         string
	config, script document // with apiKey as the token
}

// Publish renders a Publication. Definitions are rendered by the first request for
// them. The error is about invalid JSON, or a member that is not configuration.
func Publish(p Publication) (*Published, error) {
	out := &Published{apiKey: p.APIKey}
	if p.Definitions != nil {
		out.definitions = renderDefinitions(p, wire.DefinitionsOptions{})
		out.inlined = renderDefinitions(p, wire.DefinitionsOptions{InlineCohorts: true})
		out.ruleSets = out.definitions
		if slices.ContainsFunc(p.Definitions.Flags, func(f flags.Flag) bool { return f.Filters.RuleSet != nil }) {
			out.ruleSets = renderDefinitions(p, wire.DefinitionsOptions{RuleSets: true})
		}
	}
	surveys, err := appendList(nil, "survey", p.Surveys)
	if err != nil {
		return nil, err
	}
	config := json.RawMessage("null")
	if p.SurveyConfig != nil {
		config = p.SurveyConfig
	}
	if config, err = appendCompact(nil, config); err != nil {
		return nil, fmt.Errorf("server: common appearance of surveys: %w", err)
	}
	out.surveys = surveysDocument(surveys, config)
	if err := out.renderEarlyAccess(p.EarlyAccess); err != nil {
		return nil, err
	}
	if err := out.renderConfig(p, surveys, config); err != nil {
		return nil, err
	}
	return out, nil
}

func renderDefinitions(p Publication, o wire.DefinitionsOptions) func() (document, error) {
	o.Project, o.Hide = p.Project, p.Hide
	return sync.OnceValues(func() (document, error) {
		body, err := wire.AppendDefinitions(nil, p.Definitions, o)
		return newDocument(body), err
	})
}

// appendList appends a JSON array. The error names the element that is not JSON.
func appendList(dst []byte, thing string, list []json.RawMessage) ([]byte, error) {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendCompact(dst, v); err != nil {
			return nil, fmt.Errorf("server: %s %d: %w", thing, i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendCompact(dst []byte, v json.RawMessage) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	err := json.Compact(b, v)
	return b.Bytes(), err
}

func surveysDocument(surveys, config []byte) document {
	return newDocument(fmt.Appendf(nil, `{"surveys":%s,"survey_config":%s}`, surveys, config))
}

func (out *Published) renderEarlyAccess(list []EarlyAccessFeature) error {
	for i, f := range list {
		body, err := appendCompact(nil, f.JSON)
		if err != nil {
			return fmt.Errorf("server: early access feature %d: %w", i, err)
		}
		out.earlyAccess = append(out.earlyAccess, EarlyAccessFeature{f.Stage, body})
	}
	out.beta = newDocument(out.appendEarlyAccess(nil, func(stage string) bool { return stage == "beta" }))
	return nil
}

// appendEarlyAccess appends the answer with the features at some stages.
func (out *Published) appendEarlyAccess(dst []byte, wanted func(stage string) bool) []byte {
	dst = append(dst, `{"earlyAccessFeatures":[`...)
	first := true
	for _, f := range out.earlyAccess {
		if !wanted(f.Stage) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		dst, first = append(dst, f.JSON...), false
	}
	return append(dst, "]}"...)
}

// renderConfig renders what clients get with config=true, where surveys are a
// boolean, and what browsers and mobile clients fetch first, where surveys are a
// list, or false (wire.md §0.11, §4.1).
func (out *Published) renderConfig(p Publication, surveys, config []byte) error {
	members := map[string]any{"surveys": len(p.Surveys) > 0}
	if p.SurveyConfig != nil {
		members["survey_config"] = json.RawMessage(config)
	}
	maps.Copy(members, p.Members)
	var err error
	if out.client, err = NewClientConfig(members); err != nil {
		return err
	}
	if len(p.Surveys) > 0 {
		members["surveys"] = json.RawMessage(surveys)
	}
	members["survey_config"] = json.RawMessage(config)
	maps.Copy(members, p.Members)
	if out.members, err = renderConfig(members, compressionOfDecide); err != nil {
		return err
	}
	out.config = newDocument(appendConfig(nil, out.members, p.APIKey))
	out.script = newDocument(appendScript(nil, out.config.body))
	return nil
}

// appendConfig appends the client configuration with an API key as the token, and
// with its other members.
func appendConfig(dst, members []byte, apiKey string) []byte {
	dst = append(append(dst, '{'), members...)
	dst = append(dst, `,"token":`...)
	return append(text.AppendQuoted(dst, apiKey), '}')
}

// appendScript appends the script that puts the client configuration where
// posthog-js looks for it. It escapes what a page could take for markup, or for the
// end of a line.
func appendScript(dst, config []byte) []byte {
	script := bytes.NewBuffer(dst)
	script.WriteString("(function(c){var all=window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};all[c.token]={config:c,siteApps:[]}})(")
	json.HTMLEscape(script, config)
	script.WriteString(");\n")
	return script.Bytes()
}

// Client returns the configuration for [Project.ClientConfig].
func (out *Published) Client() ClientConfig { return out.client }

// The documents of projects without Published.
var (
	noSurveys  = surveysDocument([]byte("[]"), []byte("null"))
	noFeatures = newDocument(new(Published).appendEarlyAccess(nil, nil))
)

// surveys returns the surveys of a project.
func (p *Project) surveys() document {
	if p.Published.isZero() {
		return noSurveys
	}
	return p.Published.surveys
}

// earlyAccess returns the features at some stages; none: at beta.
func (p *Project) earlyAccess(stages []string) document {
	switch {
	case p.Published.isZero():
		return noFeatures
	case len(stages) == 0:
		return p.Published.beta
	}
	return newDocument(p.Published.appendEarlyAccess(nil, func(stage string) bool { return slices.Contains(stages, stage) }))
}

// config returns the client configuration for a client that asks with an API key,
// of which a project may have several.
func (p *Project) config(apiKey string) document {
	switch {
	case p.Published.isZero():
		return newDocument(appendConfig(nil, p.ClientConfig.block(true), apiKey))
	case p.Published.apiKey != apiKey:
		return newDocument(appendConfig(nil, p.Published.members, apiKey))
	}
	return p.Published.config
}

// script returns config as a script.
func (p *Project) script(apiKey string) document {
	if !p.Published.isZero() && p.Published.apiKey == apiKey {
		return p.Published.script
	}
	return newDocument(appendScript(nil, p.config(apiKey).body))
}

// isZero reports whether a Published is nil, or was not made by Publish. Then nothing
// is published.
func (p *Published) isZero() bool { return p == nil || p.surveys.etag == nil }
