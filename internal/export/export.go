package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/parallel"
)

// A Project is what a document has. Flags and Cohorts are as the management API shows them,
// of this or of the public system.
type Project struct {
	Flags, Cohorts []json.RawMessage
	GroupTypes     map[string]string // by index
	Timezone       string            // "" if it is not known
}

// A flag is a flag of a document: what it is, without what it was, and without what is
// usual.
type flag struct {
	ID       int64           `json:"id"`
	Key      string          `json:"key"`
	Name     string          `json:"name,omitempty"`
	Active   bool            `json:"active"`
	Archived bool            `json:"archived,omitempty"`
	Tags     []string        `json:"tags,omitempty"`
	Filters  json.RawMessage `json:"filters"` // as they are shown

	flags.Flag // the other fields, of which only those that are set are written

	Version       *int64 `json:"version,omitempty"`
	HasExperiment bool   `json:"has_experiment"`
}

type cohort struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Static      bool            `json:"is_static"`
	Filters     json.RawMessage `json:"filters,omitempty"`
}

// Document returns the project as a definitions document, which depends on its content
// alone, and the keys of the flags that it leaves out: payloads that are encrypted cannot
// be read elsewhere. The error names the record that cannot be read.
func (p *Project) Document() (document []byte, leftOut []string, err error) {
	type read struct {
		flag
		Experiments []json.RawMessage `json:"experiment_set"` // of the public system, which shows no more
	}
	all, err := readEach[read]("flag", p.Flags)
	if err != nil {
		return nil, nil, err
	}
	list := make([]flag, 0, len(all))
	for i := range all {
		f := &all[i].flag
		if f.HasEncryptedPayloads {
			leftOut = append(leftOut, f.Key)
			continue
		}
		f.Deleted, f.Version, f.HasExperiment = false, nil, f.HasExperiment || len(all[i].Experiments) > 0
		for text, usual := range f.Defaults() {
			if *text == usual {
				*text = ""
			}
		}
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b flag) int { return cmp.Compare(a.Key, b.Key) })
	cohorts, err := readEach[cohort]("cohort", p.Cohorts)
	if err != nil {
		return nil, nil, err
	}
	for i := range cohorts {
		if cohorts[i].Static {
			cohorts[i].Filters = nil
		}
	}
	slices.SortFunc(cohorts, func(a, b cohort) int { return cmp.Compare(a.ID, b.ID) })

	// As the encoder would write them, but on all processors.
	document = []byte("{\n  \"flags\": ")
	if document, err = appendList(document, list); err != nil {
		return nil, nil, err
	}
	if document, err = appendList(append(document, ",\n  \"cohorts\": "...), cohorts); err != nil {
		return nil, nil, err
	}
	types, err := encode("  ", p.GroupTypes)
	if err != nil {
		return nil, nil, err
	}
	document = append(append(document, ",\n  \"group_type_mapping\": "...), types...)
	if p.Timezone != "" {
		zone, err := encode("  ", p.Timezone)
		if err != nil {
			return nil, nil, err
		}
		document = append(append(document, ",\n  \"timezone\": "...), zone...)
	}
	return append(document, "\n}\n"...), leftOut, nil
}

// readEach reads records, on all processors. The error names the first record that cannot
// be read.
func readEach[T any](what string, list []json.RawMessage) ([]T, error) {
	out, errs := make([]T, len(list)), make([]error, len(list))
	if err := parallel.Each(len(list), func(i int) { errs[i] = json.Unmarshal(list[i], &out[i]) }); err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i+1, err)
		}
	}
	return out, nil
}

// appendList appends a list that is a member of a document.
func appendList[T any](dst []byte, list []T) ([]byte, error) {
	if len(list) == 0 {
		return append(dst, "[]"...), nil
	}
	parts := slices.Collect(slices.Chunk(list, 100))
	texts, errs := make([][]byte, len(parts)), make([]error, len(parts))
	err := parallel.Each(len(parts), func(i int) { texts[i], errs[i] = encode("    ", parts[i]...) })
	if err := cmp.Or(err, cmp.Or(errs...)); err != nil {
		return nil, err
	}
	dst = append(append(dst, "[\n    "...), bytes.Join(texts, []byte(",\n    "))...)
	return append(dst, "\n  ]"...), nil
}

// encode returns values as the elements of a list, whose lines but the first begin with a
// prefix.
func encode[T any](prefix string, values ...T) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	for i := range values {
		if i > 0 {
			b.Truncate(b.Len() - len("\n"))
			b.WriteString(",\n" + prefix)
		}
		if err := e.Encode(&values[i]); err != nil {
			return nil, err
		}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
