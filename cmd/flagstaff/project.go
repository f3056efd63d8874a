package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/api"
)

// Members of a cohort are fetched in pages of pageOfPersons, and sent on in parts of at
// most maxPartOfMembers distinct IDs.
const (
	pageOfPersons    = 500
	maxPartOfMembers = 10_000
)

// A projectCopy is what a server tells of the flags and cohorts of a project. Records are
// as the API shows them, of this or of the public system.
type projectCopy struct {
	flags      []json.RawMessage
	cohorts    []json.RawMessage
	groupTypes map[string]string // by index
	timezone   string
	notes      []string
	exported   int // flags in the document of export
}

// fetchFlags fetches the flags of a project, archived ones included. fetched is told how
// many there are.
func fetchFlags(ctx context.Context, client *api.Client, fetched func(n int)) ([]json.RawMessage, error) {
	list, known := []json.RawMessage{}, make(map[int64]bool)
	for _, query := range []url.Values{nil, {"archived": {"true"}}} {
		for raw, err := range api.List[json.RawMessage](ctx, client, client.InProject("feature_flags"), query) {
			if err != nil {
				return nil, err
			}
			var f struct {
				ID int64 `json:"id"`
			}
			if err := json.Unmarshal(raw, &f); err != nil {
				return nil, fmt.Errorf("the server sends a flag that cannot be read: %w", err)
			}
			// A server that does not know the parameter sends the same flags again.
			if !known[f.ID] {
				known[f.ID] = true
				list = append(list, raw)
				fetched(len(list))
			}
		}
	}
	return list, nil
}

// fetchProject fetches the flags and cohorts of a project, archived flags included.
// fetched is told how many records there are.
func fetchProject(ctx context.Context, client *api.Client, fetched func(n int)) (*projectCopy, error) {
	list, err := fetchFlags(ctx, client, fetched)
	if err != nil {
		return nil, err
	}
	c := &projectCopy{flags: list, cohorts: []json.RawMessage{}, groupTypes: make(map[string]string)}
	for raw, err := range api.List[json.RawMessage](ctx, client, client.InProject("cohorts"), nil) {
		if err != nil {
			return nil, err
		}
		c.cohorts = append(c.cohorts, raw)
		fetched(len(c.flags) + len(c.cohorts))
	}
	var types []struct {
		Name  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	if err := c.optional(client.Get(ctx, client.InProject("groups_types"), &types), "group types, so that flags about groups are left out"); err != nil {
		return nil, err
	}
	for _, t := range types {
		c.groupTypes[strconv.Itoa(t.Index)] = t.Name
	}
	var project struct {
		Timezone string `json:"timezone"`
	}
	if err := c.optional(client.Get(ctx, client.InProject(), &project), "time zone, in which dates without a zone are"); err != nil {
		return nil, err
	}
	c.timezone = project.Timezone
	return c, nil
}

// optional notes what the key may not read, and returns all other errors.
func (c *projectCopy) optional(err error, what string) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Status == http.StatusForbidden {
		c.notes = append(c.notes, fmt.Sprintf("the key may not read the project's %s: %s", what, e.Detail))
		return nil
	}
	return err
}

// document returns the copy as a definitions document.
func (c *projectCopy) document() ([]byte, error) {
	members := map[string]any{"flags": c.flags, "cohorts": c.cohorts, "group_type_mapping": c.groupTypes}
	if c.timezone != "" {
		members["timezone"] = c.timezone
	}
	return json.Marshal(members)
}

// A person is a member of a cohort, as far as it is copied.
type person struct {
	DistinctIDs []string `json:"distinct_ids"`
}

// membersOf yields the distinct IDs of the members of a cohort.
func membersOf(ctx context.Context, client *api.Client, cohort int64, yield func(distinctID string) error) error {
	query := url.Values{"limit": {strconv.Itoa(pageOfPersons)}}
	path := client.InProject("cohorts", strconv.FormatInt(cohort, 10), "persons")
	for member, err := range api.List[person](ctx, client, path, query) {
		if err != nil {
			return err
		}
		for _, id := range member.DistinctIDs {
			if err := yield(id); err != nil {
				return err
			}
		}
	}
	return nil
}
