package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"
)

// exportCommand writes the flags and cohorts of a project as a document.
func (p *program) exportCommand() *cli.Command {
	var r remote
	var to string
	return &cli.Command{
		Name:      "export",
		Category:  ofFlags,
		Usage:     "write the flags and cohorts of a project as a definitions document",
		UsageText: programName + " export [-o FILE] [FLAGS]",
		Description: `Export writes all flags and cohorts of the project as a definitions document, which check,
explain, diff, import and the library take. The same project gives the same bytes, so that
the document can be kept under version control. It has no flags with encrypted payloads,
and no members of static cohorts: import -from takes these from server to server.

Examples:

	flagstaff export -o flags.json
	flagstaff export | flagstaff check -`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, which is replaced as a whole, instead of standard output", Destination: &to},
		}, r.connection.flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if _, err := p.connect(&r, cmd); err != nil {
				return err
			}
			done, stop := p.counting("fetched %d flags and cohorts")
			copied, err := fetchProject(ctx, r.client, done)
			stop()
			if err != nil {
				return err
			}
			document, err := copied.export()
			if err != nil {
				return err
			}
			for _, note := range copied.notes {
				fmt.Fprintf(p.stderr, "note: %s\n", printable(note))
			}
			if to == "" || to == "-" {
				_, err := p.stdout.Write(document)
				return err
			}
			if err := writeFile(to, document); err != nil {
				return fmt.Errorf("write the document: %w", err)
			}
			return p.print("wrote %s and %s to %s", count(copied.exported, "flag"), count(len(copied.cohorts), "cohort"), printable(to))
		},
	}
}

// An exportedFlag is a flag of a document that people read: what it is, without what it
// was, and without what is usual.
type exportedFlag struct {
	ID            int64           `json:"id"`
	Key           string          `json:"key"`
	Name          string          `json:"name,omitempty"`
	Active        bool            `json:"active"`
	Archived      bool            `json:"archived,omitempty"`
	Tags          []string        `json:"tags,omitempty"`
	Filters       json.RawMessage `json:"filters"`
	Continuity    bool            `json:"ensure_experience_continuity,omitempty"`
	Runtime       string          `json:"evaluation_runtime,omitempty"`
	Bucketing     string          `json:"bucketing_identifier,omitempty"`
	BucketingHash string          `json:"bucketing_hash,omitempty"`
	Contexts      []string        `json:"evaluation_contexts,omitempty"`
	ContextMatch  string          `json:"evaluation_contexts_match_mode,omitempty"`
	RemoteConfig  bool            `json:"is_remote_configuration,omitempty"`
	HasExperiment bool            `json:"has_experiment"`
}

type exportedCohort struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Static      bool            `json:"is_static"`
	Filters     json.RawMessage `json:"filters,omitempty"`
}

// export returns the copy as a document whose bytes depend on its content alone.
func (c *projectCopy) export() ([]byte, error) {
	list := []exportedFlag{}
	for _, raw := range c.flags {
		var f struct {
			exportedFlag
			Secret      bool              `json:"has_encrypted_payloads"`
			Experiments []json.RawMessage `json:"experiment_set"` // of the public system, which shows no more
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("the server sends a flag that cannot be read: %w", err)
		}
		if f.Secret {
			c.notes = append(c.notes, fmt.Sprintf("flag %s is left out: its payloads are encrypted", f.Key))
			continue
		}
		f.HasExperiment = f.HasExperiment || len(f.Experiments) > 0
		if f.Runtime == "all" {
			f.Runtime = ""
		}
		if f.Bucketing == "distinct_id" {
			f.Bucketing = ""
		}
		if f.ContextMatch == "any" {
			f.ContextMatch = ""
		}
		list = append(list, f.exportedFlag)
	}
	c.exported = len(list)
	slices.SortFunc(list, func(a, b exportedFlag) int { return cmp.Compare(a.Key, b.Key) })
	cohorts := []exportedCohort{}
	for _, raw := range c.cohorts {
		var one exportedCohort
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("the server sends a cohort that cannot be read: %w", err)
		}
		if one.Static {
			one.Filters = nil
		}
		cohorts = append(cohorts, one)
	}
	slices.SortFunc(cohorts, func(a, b exportedCohort) int { return cmp.Compare(a.ID, b.ID) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Flags      []exportedFlag    `json:"flags"`
		Cohorts    []exportedCohort  `json:"cohorts"`
		GroupTypes map[string]string `json:"group_type_mapping"`
		Timezone   string            `json:"timezone,omitempty"`
	}{list, cohorts, c.groupTypes, c.timezone})
	return b.Bytes(), err
}

// writeFile replaces a file as a whole: there is the old one or the new one, whatever
// happens. The new one can be read by all who may read the folder, as other documents.
func writeFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	const readable = 0o644
	if err = errors.Join(err, f.Chmod(readable), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
