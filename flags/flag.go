package flags

import (
	"errors"
	"iter"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// A Flag is one flag's definition (evaluation.md §1.2). Of what evaluation does
// not use it keeps the name, and what people see of the filters.
type Flag struct {
	ID      int64  `json:"id"`
	Key     string `json:"key"`
	Name    string `json:"name"`
	Active  bool   `json:"active"`
	Deleted bool   `json:"deleted,omitempty"`
	Version int    `json:"version"`

	Filters Filters `json:"filters"`

	// EnsureExperienceContinuity keeps a person's bucket across identification
	// (evaluation.md §12). Decode leaves it false where the document also says
	// "evaluate_remotely": true, which is how this library tells SDKs, and only
	// them, to ask the server (evaluation.md §14).
	EnsureExperienceContinuity bool `json:"ensure_experience_continuity,omitempty"`

	// BucketingIdentifier is "device_id" for device bucketing; anything else
	// is the distinct ID.
	BucketingIdentifier string `json:"bucketing_identifier,omitempty"`

	// BucketingHash is "sha1", "xxhash64", or "" for the document's.
	BucketingHash string `json:"bucketing_hash,omitempty"`

	// EvaluationRuntime is "client", "server" or, as any other text, all.
	EvaluationRuntime string `json:"evaluation_runtime,omitempty"`

	// EvaluationContexts are the flag's evaluation tags; none: unrestricted.
	EvaluationContexts []string `json:"evaluation_contexts,omitempty"`

	// EvaluationContextsMatchMode says how many of them a request with contexts must
	// have: "" or "any" one of them, "all" every one (evaluation.md §9.2). A flag with
	// another text fails.
	EvaluationContextsMatchMode string `json:"evaluation_contexts_match_mode,omitempty"`

	IsRemoteConfiguration bool `json:"is_remote_configuration,omitempty"`

	// HasEncryptedPayloads keeps the flag out of every evaluation.
	HasEncryptedPayloads bool `json:"has_encrypted_payloads,omitempty"`

	// HasExperiment is what [Flag.InExperiment] returns. Nil means true, and for a flag with a
	// rule set that none of its rules has an experiment.
	HasExperiment *bool `json:"has_experiment,omitempty"`

	// fault is the reason why Decode could not understand the flag. Such a
	// flag is reported as failed wherever it would be evaluated.
	fault *DefinitionError
}

// Err returns why [Decode] could not understand the flag, or nil.
func (f *Flag) Err() error { return asError(f.unreadable()) }

// Unusable returns why the flag fails, or counts as one that fails, whatever the
// request is: what [Flag.Err] returns, or a version of its Filters or an
// EvaluationContextsMatchMode that does not exist. It is nil if the condition sets can
// be evaluated.
func (f *Flag) Unusable() error { return asError(f.unusable()) }

// Defaults returns the texts of the flag for which "" says something, each with the text that
// says the same: a flag without an EvaluationRuntime is for "all". The pointers are into the
// flag, so that a caller can write either in place of the other.
func (f *Flag) Defaults() iter.Seq2[*string, string] {
	return func(yield func(*string, string) bool) {
		for i := range flagFields {
			if field := &flagFields[i]; field.usual != "" && !yield(field.text(f), field.usual) {
				return
			}
		}
	}
}

// unreadable returns the first fault of the flag and its filters, or nil.
func (f *Flag) unreadable() *DefinitionError {
	if f.fault != nil {
		return f.fault
	}
	return f.Filters.fault
}

// A flagField is a member of a flag in a document (evaluation.md §1.2): how it is read, and
// how what can change an answer is hashed. Nil: it changes none.
type flagField struct {
	name string
	read func(d *decoder, m *flagMembers, p *path, v jsonscan.Value)
	hash func(b contentHash, f *Flag) contentHash

	text  func(f *Flag) *string // of a field that is a text
	usual string                // what says the same as ""
}

// flagMembers is what the members of a flag leave for the end of its object.
type flagMembers struct {
	flag                         *Flag
	place                        path // of the member that is read
	key, filters, contexts, tags jsonscan.Value
	hasID, remote                bool
}

// flagFields is the table of them. The digest of a flag depends on their order.
var flagFields = []flagField{
	{
		name: "id",
		read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) { m.hasID = d.integer(&m.flag.ID, p, v) },
		hash: func(b contentHash, f *Flag) contentHash { return b.number(f.ID) },
	},
	{
		name: "key",
		read: func(_ *decoder, m *flagMembers, _ *path, v jsonscan.Value) { m.key = v },
		hash: func(b contentHash, f *Flag) contentHash { return b.text(f.Key) },
	},
	boolField("active", func(f *Flag) *bool { return &f.Active }),
	boolField("deleted", func(f *Flag) *bool { return &f.Deleted }),
	{
		name: "version",
		read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) {
			var n int64
			if d.integer(&n, p, v) {
				m.flag.Version = int(n)
			}
		},
		hash: func(b contentHash, f *Flag) contentHash { return b.number(int64(f.Version)) },
	},
	boolField("ensure_experience_continuity", func(f *Flag) *bool { return &f.EnsureExperienceContinuity }),
	textField("bucketing_identifier", "distinct_id", func(f *Flag) *string { return &f.BucketingIdentifier }),
	textField("bucketing_hash", "", func(f *Flag) *string { return &f.BucketingHash }),
	textField("evaluation_runtime", "all", func(f *Flag) *string { return &f.EvaluationRuntime }),
	{
		name: "evaluation_contexts",
		read: func(_ *decoder, m *flagMembers, _ *path, v jsonscan.Value) { m.contexts = v },
		hash: func(b contentHash, f *Flag) contentHash {
			b = b.number(int64(len(f.EvaluationContexts)))
			for _, t := range f.EvaluationContexts {
				b = b.text(t)
			}
			return b
		},
	},
	textField("evaluation_contexts_match_mode", "any", func(f *Flag) *string { return &f.EvaluationContextsMatchMode }),
	boolField("is_remote_configuration", func(f *Flag) *bool { return &f.IsRemoteConfiguration }),
	boolField("has_encrypted_payloads", func(f *Flag) *bool { return &f.HasEncryptedPayloads }),
	{
		name: "has_experiment",
		read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) {
			b := true
			d.bool(&b, p, v)
			m.flag.HasExperiment = &b
		},
		hash: func(b contentHash, f *Flag) contentHash { return b.flag(f.InExperiment()) },
	},
	{
		name: "filters",
		read: func(_ *decoder, m *flagMembers, _ *path, v jsonscan.Value) { m.filters = v },
		hash: func(b contentHash, f *Flag) contentHash { return b.flag(f.unreadable() != nil).filters(&f.Filters) },
	},

	{name: "evaluate_remotely", read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) { d.bool(&m.remote, p, v) }},
	{name: "evaluation_tags", read: func(_ *decoder, m *flagMembers, _ *path, v jsonscan.Value) { m.tags = v }},
	{name: "name", read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) {
		if v.Kind() == jsonscan.String {
			m.flag.Name = d.name(v)
			return
		}
		d.expect(jsonscan.String, p, v)
	}},
	{name: "archived", read: func(d *decoder, _ *flagMembers, p *path, v jsonscan.Value) { d.expectBool(p, v) }},
	{name: "tags", read: func(d *decoder, _ *flagMembers, p *path, v jsonscan.Value) { d.expectTexts(p, v) }},
	{name: "experiment_set", read: func(d *decoder, _ *flagMembers, p *path, v jsonscan.Value) { d.expect(jsonscan.Array, p, v) }},
	{name: "rollout_percentage", read: func(d *decoder, _ *flagMembers, p *path, v jsonscan.Value) {
		if v.Kind() != jsonscan.Null {
			d.noteMember(members.Flag, p.name, p, v, "did you mean filters.groups[0].rollout_percentage?", errors.New("a percentage of the flag is not read"))
		}
	}},
}

// flagFieldNamed has the fields by name.
var flagFieldNamed = func() map[string]*flagField {
	m := make(map[string]*flagField, len(flagFields))
	for i := range flagFields {
		m[flagFields[i].name] = &flagFields[i]
	}
	return m
}()

// boolField returns the row of a field that is true or false.
func boolField(name string, of func(f *Flag) *bool) flagField {
	return flagField{
		name: name,
		read: func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) { d.bool(of(m.flag), p, v) },
		hash: func(b contentHash, f *Flag) contentHash { return b.flag(*of(f)) },
	}
}

// textField returns the row of a field that is a text.
func textField(name, usual string, of func(f *Flag) *string) flagField {
	return flagField{
		name:  name,
		read:  func(d *decoder, m *flagMembers, p *path, v jsonscan.Value) { d.str(of(m.flag), p, v) },
		hash:  func(b contentHash, f *Flag) contentHash { return b.text(*of(f)) },
		text:  of,
		usual: usual,
	}
}
