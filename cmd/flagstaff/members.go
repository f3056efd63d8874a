package main

import (
	"context"
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
)

// Members of a cohort are fetched in pages of pageOfPersons, and sent on in parts of at
// most maxPartOfMembers distinct IDs.
const (
	pageOfPersons    = 500
	maxPartOfMembers = 10_000
)

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
