package cohorts_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestRuling99And100Upload: a list for a cohort that decides a flag shows first who changes,
// and is taken back as a whole (management.md §5.11).
func TestRuling99And100Upload(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	path, _ := s.List("user-001")
	id := strings.TrimPrefix(path, "/projects/1/cohorts/")
	members := path + "/members"
	listed := func() map[string]bool {
		t.Helper()
		page, err := s.Service.ListCohortPersons(t.Context(), s.Owner, "1", id, 100, 0)
		consoletest.Fatal(t, err)
		in := make(map[string]bool)
		for _, p := range page.Items {
			in[p.DistinctIDs[0]] = true
		}
		return in
	}
	only := map[string]bool{"user-001": true}

	// Nothing uses it: nobody is asked, and the list goes as a whole. Who was in it stays.
	page := s.Get(s.Upload(members, "user-001\nuser-002\n", "distinct_id\nstranger\n").Location()).Want(200, "Undo",
		"Persons who were created for unknown distinct IDs stay.")
	page.CheckPage()
	to, undo := page.Undo()
	if in := listed(); len(in) != 3 {
		t.Fatalf("in the cohort: %v", in)
	}
	s.Post(to, undo).Leads(path + "?done=undone")
	if diff := cmp.Diff(only, listed(), consoletest.Same); diff != "" {
		t.Errorf("after the undo (-want +got)\n%s", diff)
	}
	s.Post(to, undo).Want(409, "This cannot be undone any more")
	s.Get("/projects/1/persons?q=stranger").Want(200, "stranger")
	if body := s.Get(s.Upload(members, "user-001", "").Location()).Want(200).Body; strings.Contains(body, "<button>Undo") {
		t.Error("an upload that has added nobody can be undone")
	}

	// An active flag uses it.
	s.Update("checkout-button",
		`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+id+`}],"rollout_percentage":100}]}}`)
	s.Get(s.Upload(members, "user-001", "").Location()).Want(200) // nobody changes
	const odd = "\"a,\"\"b\"\"\"\n<i>\u2028&\n"                   // two distinct IDs, as CSV has them
	ask := s.Upload(members, "", "distinct_id\nuser-001\nuser-002\nuser-003\n"+odd).Want(200, "Review changes",
		"The list has 5 distinct IDs for Listed.", "Nothing is stored yet.", "persons who were seen last, 3 are in it then: 2 come in.",
		"checkout-button for 2 persons")
	ask.CheckPage()
	if diff := cmp.Diff(only, listed(), consoletest.Same); diff != "" {
		t.Fatalf("it was done before it was asked (-want +got)\n%s", diff)
	}
	form := ask.Form("")
	page = s.Get(s.Do(s.Multi(members, form, "", nil)).Location()).Want(200,
		"The newest list had 5 distinct IDs: 4 persons were not in the cohort before.")
	if in := listed(); len(in) != 5 || !in[`a,"b"`] || !in["<i>\u2028&"] || !in["user-003"] {
		t.Errorf("in the cohort: %v", in)
	}
	// Who comes in by another way later stays.
	person, err := s.Service.GetPerson(t.Context(), s.Owner, "1", "user-003")
	consoletest.Fatal(t, err)
	s.Post(path, url.Values{"do": {"remove-person " + person.ID.String()}}).Want(303)
	s.Post(path, url.Values{"do": {"add-member"}, "person": {"user-003"}}).Want(303)
	to, undo = page.Undo()
	s.Post(to, undo).Leads(path + "?done=undone")
	if diff := cmp.Diff(map[string]bool{"user-001": true, "user-003": true}, listed(), consoletest.Same); diff != "" {
		t.Errorf("after the undo (-want +got)\n%s", diff)
	}

	// What cannot be read is said before anything is stored.
	s.Upload(members, "kept\n", "\"broken").Want(422, "The list cannot be read", "No person of the list is in the cohort yet.",
		"kept").CheckPage()
	s.Upload(members, "", "").Want(422, "Choose a file, or type distinct IDs.")
	s.Do(s.Multi(members, consoletest.With(form, "kept_list", "%%"), "", nil)).Want(400)
	s.Do(s.Multi(members, consoletest.With(form, "kept_list", form.Get("kept_list")[:20]), "", nil)).Want(400)
	if in := listed(); len(in) != 2 {
		t.Errorf("in the cohort: %v", in)
	}
}
