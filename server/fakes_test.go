package server_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// A fakeStore has what its parts have, nothing where one is nil.
type fakeStore struct {
	*fakeProperties
	*fakeOverrides
	*fakeCohorts
}

// fakeProperties is the part of a fakeStore that has properties. It writes down
// what it was asked.
type fakeProperties struct {
	mu      sync.Mutex
	calls   []string
	persons map[string]string // JSON by distinct id
	groups  map[string]string // JSON by type/key
	created time.Time         // of all persons
	err     error
}

func (f *fakeProperties) AppendPerson(_ context.Context, dst []byte, project int64, distinctID string) ([]byte, error) {
	if f == nil {
		return dst, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("person %d %s", project, distinctID))
	return append(dst, f.persons[distinctID]...), f.err
}

func (f *fakeProperties) AppendGroup(_ context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error) {
	if f == nil {
		return dst, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("group %d %s/%s", project, groupType, groupKey))
	return append(dst, f.groups[groupType+"/"+groupKey]...), f.err
}

func (f *fakeProperties) PersonCreated(_ context.Context, project int64, distinctID string) (time.Time, error) {
	if f == nil {
		return time.Time{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("created %d %s", project, distinctID))
	return f.created, f.err
}

// fakeOverrides is the part of a fakeStore that has one hash key for every person.
type fakeOverrides struct {
	calls     []string
	flag, key string
	err       error
}

func (f *fakeOverrides) Overrides(_ context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error {
	if f == nil {
		return nil
	}
	f.calls = append(f.calls, fmt.Sprintf("%d %s %s %q", project, distinctID, anonymousID, flagKeys))
	if f.flag != "" {
		found(f.flag, f.key)
	}
	return f.err
}

// fakeCohorts is the part of a fakeStore in which everybody is a member of the same
// cohorts.
type fakeCohorts struct {
	calls []string
	ids   []int64
	err   error
}

func (f *fakeCohorts) AppendCohorts(_ context.Context, dst []int64, project int64, distinctID string) ([]int64, error) {
	if f == nil {
		return dst, nil
	}
	f.calls = append(f.calls, fmt.Sprintf("%d %s", project, distinctID))
	return append(dst, f.ids...), f.err
}

// fakeGeo is a Locator that writes down what it was asked.
type fakeGeo struct {
	asked      *[]netip.Addr
	properties map[string]string
}

func (f fakeGeo) Properties(addr netip.Addr) iter.Seq2[string, string] {
	if f.asked != nil {
		*f.asked = append(*f.asked, addr)
	}
	return maps.All(f.properties)
}

// fakeQuota is a Quota per organization.
type fakeQuota struct {
	mu   sync.Mutex
	left map[string]int
}

func (f *fakeQuota) Take(organization string, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left[organization] -= n
	return f.left[organization] >= 0
}

// fakeCollector is a Collector that keeps what it is given.
type fakeCollector struct {
	mu      sync.Mutex
	events  []capture.Event
	accept  func(ctx context.Context, events []capture.Event) error // nil: all is stored
	waiting int
}

func (f *fakeCollector) Accept(ctx context.Context, events ...capture.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, events...)
	if f.accept == nil {
		return nil
	}
	return f.accept(ctx, events)
}

func (f *fakeCollector) Waiting() int { return f.waiting }

// take returns the events of the requests since the last take.
func (f *fakeCollector) take() []capture.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.events
	f.events = nil
	return list
}
