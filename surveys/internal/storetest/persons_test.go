package storetest_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/surveys"
)

// testSurveysOfDeletedPersons: what persons did with surveys counts on when they are
// deleted, each of their distinct IDs by itself, unless their events are deleted
// too; then nothing of it counts from that moment on.
func testSurveysOfDeletedPersons(t *testing.T, s *suite) {
	ctx := t.Context()
	id := uuid.MustParse("019c0a11-2f30-7000-8c4e-1a2b3c4d5e6f")
	q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
	for _, step := range []surveyStep{
		{"survey shown", "a", 1, "", 1},
		{"survey sent", "a", 2, `"$survey_submission_id":"one","$survey_response_q":"x"`, 2},
		{"survey shown", "u", 3, "", 3},
		{"survey sent", "b", 4, `"$survey_submission_id":"two","$survey_response_q":"y"`, 4},
		{"survey dismissed", "b", 5, "", 5},
		{"survey sent", "c", 6, `"$survey_submission_id":"two","$survey_response_q":"z"`, 6},
	} {
		s.write(t, s.surveyEvent(id, step))
	}
	s.write(t, s.event("$identify", "u", `{"$anon_distinct_id":"a"}`))
	wantTally(t, "before", s, q, `shown 2 by 1, dismissed 1 by 1, sent 2 by 2, both 0; 6 by c {"q":"z"}; 2 by a {"q":"x"}`)

	p, err := s.PersonByDistinctID(ctx, 1, "u")
	must(t, err)
	must(t, s.DeletePerson(ctx, 1, p.ID, false))
	wantTally(t, "without u", s, q, `shown 2 by 2, dismissed 1 by 1, sent 2 by 2, both 0; 6 by c {"q":"z"}; 2 by a {"q":"x"}`)

	p, err = s.PersonByDistinctID(ctx, 1, "c")
	must(t, err)
	must(t, s.DeletePerson(ctx, 1, p.ID, true))
	want := `shown 2 by 2, dismissed 1 by 1, sent 2 by 2, both 1; 4 by b {"q":"y"}; 2 by a {"q":"x"}`
	wantTally(t, "without the events of c", s, q, want)
	for more := true; more; {
		more, err = s.PurgeEvents(ctx)
		must(t, err)
	}
	wantTally(t, "after the purge", s, q, want)

	s.write(t, s.surveyEvent(id, surveyStep{"survey shown", "c", 7, "", 7}))
	wantTally(t, "when c is back", s, q, `shown 3 by 3, dismissed 1 by 1, sent 2 by 2, both 1; 4 by b {"q":"y"}; 2 by a {"q":"x"}`)
}
