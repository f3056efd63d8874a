package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Manifest is what tools of OpenFeature know of the flags of a project (wire.md §7.5).
type Manifest struct {
	Flags []ManifestFlag `json:"flags"` // by key

	// Writable says that the caller may change the manifest.
	Writable bool `json:"-"`
}

// A ManifestFlag is a flag in a [Manifest].
type ManifestFlag struct {
	Key          string          `json:"key"`
	Type         string          `json:"type"`        // boolean, string, integer, float or object
	Description  string          `json:"description"` // storage.Flag.Name
	DefaultValue json.RawMessage `json:"defaultValue"`
}

// A ManifestChange is a flag of a [Manifest] after a change.
type ManifestChange struct {
	Flag      ManifestFlag `json:"flag"`
	UpdatedAt time.Time    `json:"updatedAt"`
}

// A ManifestRemoval tells that a flag is no longer in a [Manifest].
type ManifestRemoval struct {
	Message    string    `json:"message"`
	ArchivedAt time.Time `json:"archivedAt"`
}

// A ManifestPatch makes or changes a flag of a [Manifest].
type ManifestPatch struct {
	Key          optional.Value[string]          `json:"key"`
	Type         optional.Value[string]          `json:"type"`
	Name         optional.Value[string]          `json:"name"`        // the description, where there is none
	Description  optional.Value[string]          `json:"description"` // absent: ""
	DefaultValue optional.Value[json.RawMessage] `json:"defaultValue"`
}

// The types of a manifest. Its API has no float; the tools of OpenFeature send and
// take it.
const (
	manifestBoolean = "boolean"
	manifestString  = "string"
	manifestInteger = "integer"
	manifestFloat   = "float"
	manifestObject  = "object"
)

var manifestTypes = []string{manifestBoolean, manifestString, manifestInteger, manifestFloat, manifestObject}

// Manifest returns the flags of a project for a caller that may read definitions. Flags
// that a manifest cannot say are left out.
func (s *Service) Manifest(ctx context.Context, access *DefinitionsAccess) (*Manifest, error) {
	w := s.begin(access.Principal)
	w.at = &ProjectAccess{Project: access.Project}
	list, err := w.store.FlagDefinitions(ctx, access.Project.ID)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Flags: []ManifestFlag{}}
	for i := range list {
		if f, reason := inManifest(&list[i]); reason == "" {
			m.Flags = append(m.Flags, f)
		}
	}
	slices.SortStableFunc(m.Flags, func(a, b ManifestFlag) int { return cmp.Compare(a.Key, b.Key) })
	m.Writable = w.by != nil && w.by.Require("feature_flag:write") == nil && w.checkChangeable() == nil
	return m, nil
}

// inManifest returns how a manifest says a flag, or the reason why it cannot. The tools
// of OpenFeature write what it says into code, mostly as it is, so that nothing in it may
// end a comment or a text.
func inManifest(f *storage.Flag) (m ManifestFlag, reason string) {
	switch {
	case f.Kind != storage.FlagOrdinary:
		return m, "it belongs to a survey"
	case f.Archived:
		return m, "it is archived"
	case f.Filters.Err() != nil:
		return m, "its filters cannot be understood"
	case f.EncryptedPayloads:
		return m, "its payloads are encrypted"
	case strings.ContainsAny(f.Key, "\"`\\"), !fitsCode(f.Key):
		return m, "its key has quotes or other characters that do not fit into code"
	}
	m = ManifestFlag{Key: f.Key, Description: inComment(f.Name), Type: manifestBoolean, DefaultValue: json.RawMessage("false")}
	if f.Filters.RuleSet != nil {
		m.Type, m.DefaultValue, reason = typedDefault(f.Filters.RuleSet)
	} else if f.RemoteConfig {
		m.Type, m.DefaultValue, reason = configurationOf(&f.Filters)
	} else if variants := defaultFirst(&f.Filters); len(variants) > 0 {
		m.Type, m.DefaultValue = manifestString, rawjson.Must(variants[0])
	}
	if reason == "" && !fitsCode(decoded(m.DefaultValue)) {
		reason = notForCode
	}
	return m, reason
}

// typedDefault returns the type and the default of a flag with a rule set.
func typedDefault(set *flags.RuleSet) (kind string, value json.RawMessage, reason string) {
	switch {
	case set.Default == nil:
		return "", nil, "its default is what the caller falls back on"
	case set.ReturnType != "number":
		return set.ReturnType, set.Default, ""
	}
	return manifestFloat, asFloat(set.Default), ""
}

// asFloat returns a number as JSON that no tool takes for an integer.
func asFloat(value json.RawMessage) json.RawMessage {
	if numberType(string(value)) == manifestInteger {
		return append(slices.Clip(value), ".0"...)
	}
	return value
}

const notForCode = "its default has characters that end a line or a comment of code"

// endOfComment has what ends a comment, or the text of a documentation, in one of the
// languages for which there are generators, and what stands for it in descriptions. Java
// knows escapes in comments, and Python in documentation.
var endOfComment = strings.NewReplacer("*/", "* /", `"""`, "'''", `\u`, "/u", `\U`, "/U", `\x`, "/x", `\N`, "/N")

// breaksLine reports whether a character ends a line of code, or makes the code another
// one than people see.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == '\ufeff'
}

// inComment returns a text as one line.
func inComment(text string) string {
	line := strings.Map(func(r rune) rune {
		if breaksLine(r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
	return endOfComment.Replace(line)
}

// fitsCode reports whether all texts of a value can be written into a comment.
func fitsCode(value any) bool {
	switch v := value.(type) {
	case string:
		return !strings.ContainsFunc(v, breaksLine) && endOfComment.Replace(v) == v
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !fitsCode(one) })
	case map[string]any:
		for name, one := range v {
			if !fitsCode(name) || !fitsCode(one) {
				return false
			}
		}
	}
	return true
}

// defaultFirst returns the keys of the variants of a flag. The first one is the default:
// the variant control, if there is one.
func defaultFirst(f *flags.Filters) []string {
	keys := judge.Variants(f)
	if i := slices.Index(keys, "control"); i > 0 {
		keys = slices.Insert(slices.Delete(keys, i, i+1), 0, "control")
	}
	return keys
}

// configurationOf returns the type and the default of remote configuration. All its
// payloads must be of one type, since each of them may be the value.
func configurationOf(f *flags.Filters) (kind string, value json.RawMessage, reason string) {
	keys := defaultFirst(f)
	if len(keys) == 0 {
		keys = []string{"true"}
	}
	for _, key := range keys {
		payload, ok := f.Payload(key)
		if !ok || payload == "" {
			continue
		}
		k, v, reason := payloadValue(payload)
		switch {
		case reason != "":
			return "", nil, reason
		case k == "", k == kind: // null is not a value
		case kind == "":
			kind, value = k, v
		case isNumber(kind) && isNumber(k):
			kind = manifestFloat
		default:
			return "", nil, "its payloads are of several types"
		}
	}
	if kind == "" {
		return "", nil, "it has no payload"
	}
	return kind, value, ""
}

func isNumber(kind string) bool { return kind == manifestInteger || kind == manifestFloat }

// payloadValue returns the type and the value of a payload, as an evaluation has them
// (wire.md §7.2). Null has no type.
func payloadValue(payload string) (kind string, value json.RawMessage, reason string) {
	v, err := jsonscan.Parse([]byte(payload), jsonscan.MaxDepth)
	if err != nil { // a text that was stored as itself
		return manifestString, rawjson.Must(payload), ""
	}
	switch v.Kind() {
	case jsonscan.True, jsonscan.False:
		kind = manifestBoolean
	case jsonscan.String:
		kind = manifestString
	case jsonscan.Object:
		kind = manifestObject
	case jsonscan.Array:
		reason = "its payload is a list, which OpenFeature has no type for"
	case jsonscan.Number:
		kind = numberType(string(v))
		if kind == "" {
			reason = "its payload is a number that is too large"
		}
	}
	return kind, json.RawMessage(v), reason
}

// numberType returns the type of a JSON number, "" if it is too large for any. Integers
// are those that float64 has exactly, in which the tools of OpenFeature keep them.
func numberType(text string) string {
	const maxInteger = 1 << 53
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && -maxInteger <= n && n <= maxInteger {
		return manifestInteger
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return ""
	}
	return manifestFloat
}

// validate checks what can be judged without a flag, and settles the description.
func (patch *ManifestPatch) validate(create bool) error {
	text := check.UpTo(check.String, maxFlagName)
	switch {
	case !patch.Key.Set:
		return invalid("key", "required", "This field is required.")
	case !patch.Type.Set:
		return invalid("type", "required", "This field is required.")
	case create && !patch.DefaultValue.Set:
		return invalid("defaultValue", "required", "This field is required.")
	}
	if err := checkFlagKey("key", &patch.Key); err != nil {
		return judgeError(err)
	}
	if kind := &patch.Type; kind.Undecoded() != nil || !slices.Contains(manifestTypes, kind.Value) {
		return invalid("type", "invalid_choice", "Must be one of %s, not %s.", strings.Join(manifestTypes, ", "), check.Excerpt(cmp.Or(string(kind.Undecoded()), kind.Value, "null")))
	}
	for _, o := range []*optional.Value[string]{&patch.Name, &patch.Description} {
		if o.Null {
			*o = optional.Value[string]{}
		}
	}
	if err := cmp.Or(text("name", &patch.Name), text("description", &patch.Description)); err != nil {
		return judgeError(err)
	}
	switch name := patch.Name.Value; {
	case name == "", name == patch.Key.Value:
	case patch.Description.Value == "":
		patch.Description.Value = name
	case name != patch.Description.Value:
		return invalid("name", "invalid_input", "Must be left out, or be the key: a flag has one text, which is its description.")
	}
	if patch.DefaultValue.Set {
		return patch.checkDefault()
	}
	return nil
}

// checkDefault returns an error if the default is not of the type. A default of the type
// float becomes one that is not taken for an integer.
func (patch *ManifestPatch) checkDefault() error {
	sent := rawjson.OrNull(patch.DefaultValue.Value)
	kind, value, reason := payloadValue(string(sent))
	want := patch.Type.Value
	if want == manifestFloat && kind == manifestInteger {
		kind, value = want, asFloat(value)
	}
	if reason != "" || kind != want {
		return invalid("defaultValue", "invalid_type", "Must be a value of the type %s, not %s.", want, check.Excerpt(string(sent)))
	}
	if !fitsCode(decoded(value)) {
		return invalid("defaultValue", "invalid_input", "Must have no line breaks and nothing else that ends a line or a comment of code, into which it is written.")
	}
	patch.DefaultValue = optional.Of(value)
	return nil
}

// CreateManifestFlag makes a flag that is off, and which everybody gets when it is switched
// on. It needs scope feature_flag:write, as all changes of a manifest do. The error for a
// key that another flag has is ErrConflict.
func (s *Service) CreateManifestFlag(ctx context.Context, p *Principal, ref string, patch ManifestPatch) (*ManifestChange, error) {
	return answerAt(ctx, s, p, ref, "feature_flag:write", func(w *work) (*ManifestChange, error) {
		patch := patch
		if err := patch.validate(true); err != nil {
			return nil, err
		}
		switch other, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagKey.Is(patch.Key.Value), storage.FlagDeleted.Is(false)); {
		case err == nil && other.Archived:
			return nil, manifestConflict("key", "An archived flag has this key: unarchive it, or choose another key.")
		case err == nil:
			return nil, errKeyTaken
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
		change := patch.creation()
		if err := change.validate(new(storage.Flag)); err != nil {
			return nil, manifestError(err)
		}
		f, err := w.createFlag(ctx, change)
		if e, ok := errors.AsType[*Error](err); ok && e.Code == "unique" { // somebody has made it just now
			return nil, errKeyTaken
		}
		if err != nil {
			return nil, manifestError(err)
		}
		return changedInManifest(f), nil
	})
}

// manifestConflict returns an Error about what the state of a flag does not allow.
func manifestConflict(attr, format string, args ...any) *Error {
	err := conflict(format, args...)
	err.Attr = attr
	return err
}

var errKeyTaken = manifestConflict("key", "There is already a feature flag with this key.")

// manifestError turns an Error about filters into one about the default, which they were
// made of.
func manifestError(err error) error { return renamed(err, "filters", "defaultValue") }

// changedInManifest returns the answer to a change of a flag, which a manifest can say.
func changedInManifest(f *storage.Flag) *ManifestChange {
	m, _ := inManifest(f)
	return &ManifestChange{m, f.Updated}
}

// creation returns the flag that the patch makes. While it is off, clients get the default
// of their code.
func (patch *ManifestPatch) creation() *FlagPatch {
	text, _ := decoded(patch.DefaultValue.Value).(string)
	out := &FlagPatch{Key: patch.Key, Name: optional.Of(patch.Description.Value), Active: optional.Of(false)}
	filters := flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{}, RolloutPercentage: new(100.0)}}}
	switch {
	case string(patch.DefaultValue.Value) == "false":
	case served.IsVariantKey(text):
		filters.Multivariate = onlyVariant(text)
	default:
		out.RemoteConfig = optional.Of(true)
		filters.Payloads = onlyPayload(patch.DefaultValue.Value)
	}
	out.Filters = optional.Of(filters)
	return out
}

func onlyVariant(key string) *flags.Multivariate {
	return &flags.Multivariate{Variants: []flags.Variant{{Key: key, RolloutPercentage: 100}}}
}

func onlyPayload(value json.RawMessage) map[string]json.RawMessage {
	return map[string]json.RawMessage{"true": rawjson.Must(string(value))}
}

// UpdateManifestFlag changes what a manifest says of the flag with a key. It does not
// change who gets what: the default of a flag that is on stays, and so does the type. The
// error is then ErrConflict, as it is for a flag that is not in the manifest.
func (s *Service) UpdateManifestFlag(ctx context.Context, p *Principal, ref, key string, patch ManifestPatch) (*ManifestChange, error) {
	return changeManifest(ctx, s, p, ref, key, func(w *work, set *definitionSet, f *storage.Flag, m *ManifestFlag) (*ManifestChange, error) {
		patch := patch
		if err := patch.validate(false); err != nil {
			return nil, err
		}
		change, err := patch.change(f, m)
		if err != nil {
			return nil, err
		}
		if err := w.updateFlag(ctx, set, f, change); err != nil {
			return nil, manifestError(err)
		}
		return changedInManifest(f), nil
	})
}

// changeManifest runs a change of a flag that is in the manifest.
func changeManifest[V any](
	ctx context.Context, s *Service, p *Principal, ref, key string, change func(*work, *definitionSet, *storage.Flag, *ManifestFlag) (*V, error),
) (*V, error) {
	find := func(w *work) (*storage.Flag, error) {
		f, err := w.store.Flags().Get(ctx, storage.FlagProject.Is(w.at.Project.ID), storage.FlagKey.Is(key), storage.FlagDeleted.Is(false))
		return f, goneError(err, notFound("There is no flag with this key."))
	}
	return changeFound(ctx, s, p, ref, find, func(w *work, set *definitionSet, f *storage.Flag) (*V, error) {
		m, reason := inManifest(f)
		if reason != "" {
			return nil, manifestConflict("", "The flag is not in the manifest, since %s. Change it in the console or by the management API.", reason)
		}
		return change(w, set, f, &m)
	})
}

// change returns the change of a flag, which the manifest says as m.
func (patch *ManifestPatch) change(f *storage.Flag, m *ManifestFlag) (*FlagPatch, error) {
	switch {
	case patch.Key.Value != m.Key:
		return nil, invalid("key", "invalid_input", "Must be the key in the path.")
	case patch.Type.Value != m.Type:
		return nil, manifestConflict("type", "The type of the flag is %s and cannot be changed to %s: delete the flag, or make another one.", m.Type, patch.Type.Value)
	}
	out := new(FlagPatch)
	if inComment(patch.Description.Value) != m.Description { // which may be shorter than the name
		out.Name = optional.Of(patch.Description.Value)
	}
	if !patch.DefaultValue.Set || sameValue(patch.DefaultValue.Value, m.DefaultValue) {
		return out, nil
	}
	var filters flags.Filters
	variants := defaultFirst(&f.Filters)
	switch {
	case f.Filters.RuleSet != nil:
		return nil, manifestConflict("defaultValue", "The default of the flag is part of its rule set: change it in the console or by the management API.")
	case m.Type == manifestBoolean && !f.RemoteConfig:
		return nil, manifestConflict("defaultValue", "The flag is false for everybody who does not get it, and so is its default. Only remote configuration can have the default true.")
	case f.Active:
		return nil, manifestConflict("defaultValue", "The flag is on, and its default %s is what clients get: switch it off before, or change it in the console or by the management API.", check.Excerpt(string(m.DefaultValue)))
	case f.RemoteConfig && len(variants) == 0:
		filters.Payloads = onlyPayload(patch.DefaultValue.Value)
	case len(variants) == 1 && len(f.Filters.Payloads) == 0 && !slices.ContainsFunc(f.Filters.Groups, func(g flags.Condition) bool { return g.Variant != nil }):
		text, _ := decoded(patch.DefaultValue.Value).(string)
		filters.Multivariate = onlyVariant(text)
	default:
		return nil, manifestConflict("defaultValue", "The flag has variants, of which control or else the first one is the default: change the variants in the console or by the management API.")
	}
	out.Filters = optional.Of(filters)
	return out, nil
}

// sameValue reports whether two texts are the same for the tools of OpenFeature.
func sameValue(a, b json.RawMessage) bool { return reflect.DeepEqual(decoded(a), decoded(b)) }

// decoded returns a value whose JSON was parsed before.
func decoded(value json.RawMessage) (v any) {
	_ = json.Unmarshal(value, &v)
	return v
}

// DeleteManifestFlag deletes the flag with a key, as a change of Deleted does.
func (s *Service) DeleteManifestFlag(ctx context.Context, p *Principal, ref, key string) (*ManifestRemoval, error) {
	return changeManifest(ctx, s, p, ref, key, func(w *work, set *definitionSet, f *storage.Flag, _ *ManifestFlag) (*ManifestRemoval, error) {
		if err := w.updateFlag(ctx, set, f, &FlagPatch{Deleted: optional.Of(true)}); err != nil {
			return nil, err
		}
		return &ManifestRemoval{"The flag is deleted. The management API restores it.", f.Updated}, nil
	})
}
