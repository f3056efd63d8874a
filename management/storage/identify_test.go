package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestIdentifyEvents(t *testing.T) {
	before := time.Now().UTC().Truncate(time.Microsecond)
	list := storage.IdentifyEvents(7, []string{"a", "", " \t", "b", "a"})
	var ids []string
	for _, e := range list {
		ids = append(ids, e.DistinctID)
		if e.Project != 7 || e.Name != "" || string(e.Properties) != "{}" || e.NoPerson {
			t.Errorf("event %+v", e)
		}
		if e.Time.Before(before) || e.Time != e.Received || e.Time.Location() != time.UTC || e.Time.Nanosecond()%1000 != 0 {
			t.Errorf("times %v, %v; want now, in UTC with microseconds", e.Time, e.Received)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, ids); diff != "" {
		t.Errorf("distinct IDs (-want +got)\n%s", diff)
	}
	if list := storage.IdentifyEvents(7, nil); len(list) != 0 {
		t.Errorf("IdentifyEvents of nobody = %v", list)
	}
}
