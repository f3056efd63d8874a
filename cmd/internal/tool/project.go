package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
)

// A ProjectCopy is what a server tells of the flags and cohorts of a project. Records are
// as the API shows them, of this or of the public system.
type ProjectCopy struct {
	Flags      []json.RawMessage
	Cohorts    []json.RawMessage
	GroupTypes map[string]string // by index
	Timezone   string
	Notes      []string
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

// FetchProject fetches the flags and cohorts of a project, archived flags included.
// fetched is told how many records there are.
func FetchProject(ctx context.Context, client *api.Client, fetched func(n int)) (*ProjectCopy, error) {
	list, err := fetchFlags(ctx, client, fetched)
	if err != nil {
		return nil, err
	}
	c := &ProjectCopy{Flags: list, Cohorts: []json.RawMessage{}, GroupTypes: make(map[string]string)}
	for raw, err := range api.List[json.RawMessage](ctx, client, client.InProject("cohorts"), nil) {
		if err != nil {
			return nil, err
		}
		c.Cohorts = append(c.Cohorts, raw)
		fetched(len(c.Flags) + len(c.Cohorts))
	}
	var types []struct {
		Name  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	if err := c.optional(client.Get(ctx, client.InProject("groups_types"), &types), "group types, so that flags about groups are left out"); err != nil {
		return nil, err
	}
	for _, t := range types {
		c.GroupTypes[strconv.Itoa(t.Index)] = t.Name
	}
	var project struct {
		Timezone string `json:"timezone"`
	}
	if err := c.optional(client.Get(ctx, client.InProject(), &project), "time zone, in which dates without a zone are"); err != nil {
		return nil, err
	}
	c.Timezone = project.Timezone
	return c, nil
}

// optional notes what the key may not read, and returns all other errors.
func (c *ProjectCopy) optional(err error, what string) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Status == http.StatusForbidden {
		c.Notes = append(c.Notes, fmt.Sprintf("the key may not read the project's %s: %s", what, e.Detail))
		return nil
	}
	return err
}

// Document returns the copy as a definitions document.
func (c *ProjectCopy) Document() ([]byte, error) {
	members := map[string]any{"flags": c.Flags, "cohorts": c.Cohorts, "group_type_mapping": c.GroupTypes}
	if c.Timezone != "" {
		members["timezone"] = c.Timezone
	}
	return json.Marshal(members)
}
