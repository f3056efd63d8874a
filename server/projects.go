package server

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// ErrUnknownProject says that no project has the API key.
var ErrUnknownProject = errors.New("server: unknown project API key")

// Projects finds projects. It must be safe for concurrent use.
//
// If it also has a method All() iter.Seq[*Project], as [Registry] does, metrics
// show the definitions of each project.
type Projects interface {
	// Project returns the project with an API key, or an error that is
	// ErrUnknownProject. After any other error clients are told to come back later;
	// the error is logged, so it should not quote the key. The key's memory is
	// reused after the call, so an implementation that keeps the key must copy it.
	// The Project must not change after it was returned.
	Project(ctx context.Context, apiKey string) (*Project, error)
}

// A Project is one whose flags are evaluated.
type Project struct {
	ID   int64
	Name string

	// Organization is the organization whose quotas count the project's requests.
	Organization string

	// Flags holds the current definitions. While it holds none, answers have
	// no flags and errorsWhileComputingFlags is true.
	Flags *flags.Evaluator

	// AnonymizeIPs removes the client's address from the events of the project.
	AnonymizeIPs bool

	// ClientConfig is the configuration that clients get with config=true.
	ClientConfig ClientConfig

	// Published is what else clients can fetch. Nil: the ClientConfig, no surveys
	// and no early access features, and definitions are not ready.
	Published *Published

	// LastRequest keeps when a program last asked for the project's flags or definitions,
	// in Unix seconds. Nil: that is not kept.
	LastRequest *atomic.Int64

	// Status tells of the definitions, for metrics. Nil: no more than the problems that
	// Flags has.
	Status func() DefinitionsStatus
}

// A DefinitionsStatus tells of the definitions of a [Project].
type DefinitionsStatus struct {
	Origin   string          // such as "store", "file", "remote" or "cache"; "": unknown
	Loaded   time.Time       // when those that are served were compiled; zero: unknown
	Checked  time.Time       // when they were last known to be current; zero: unknown
	Problems []flags.Problem // of all severities, the worst first
}

func (p *Project) status() DefinitionsStatus {
	if p.Status != nil {
		return p.Status()
	}
	return DefinitionsStatus{Problems: p.snapshot().Problems()}
}

// requested notes that a program has asked for flags. It writes at most once a second, so
// that processors do not wait for each other.
func (p *Project) requested(now time.Time) {
	if at := now.Unix(); p.LastRequest != nil && p.LastRequest.Load() != at {
		p.LastRequest.Store(at)
	}
}

func (p *Project) snapshot() *flags.Snapshot {
	if p.Flags == nil {
		return nil
	}
	return p.Flags.Snapshot()
}

// A Registry is a set of projects in memory, by API key. The zero value is empty
// and ready; a nil one is empty, and changes of it panic. All methods are safe for concurrent use. Look-ups never wait. A change
// copies the set, so make many changes at once with Replace.
type Registry struct {
	mu      sync.Mutex // held to change current
	current atomic.Pointer[registered]
}

// registered is the content of a Registry. It does not change.
type registered struct {
	projects map[string]*Project      // by API key
	streams  func() map[string]string // API keys by the addresses of event streams
}

var _ Projects = (*Registry)(nil)

// Project returns the project with an API key, or ErrUnknownProject.
func (r *Registry) Project(_ context.Context, apiKey string) (*Project, error) {
	if p := r.load()[apiKey]; p != nil {
		return p, nil
	}
	return nil, ErrUnknownProject
}

// Set makes p the project of an API key. One project may have several keys.
func (r *Registry) Set(apiKey string, p *Project) {
	r.change(func(m map[string]*Project) { m[apiKey] = p })
}

// Delete removes an API key. Requests under way are still answered.
func (r *Registry) Delete(apiKey string) {
	r.change(func(m map[string]*Project) { delete(m, apiKey) })
}

// Replace makes the set a copy of projects, by API key.
func (r *Registry) Replace(projects map[string]*Project) {
	r.change(func(m map[string]*Project) {
		clear(m)
		maps.Copy(m, projects)
	})
}

// All iterates over the projects, each once, in no order.
func (r *Registry) All() iter.Seq[*Project] {
	return func(yield func(*Project) bool) {
		seen := make(map[*Project]bool)
		for _, p := range r.load() {
			if p == nil || seen[p] {
				continue
			}
			seen[p] = true
			if !yield(p) {
				return
			}
		}
	}
}

func (r *Registry) load() map[string]*Project {
	if r == nil {
		return nil
	}
	if c := r.current.Load(); c != nil {
		return c.projects
	}
	return nil
}

// keyOfStream returns the API key whose event stream has an address.
func (r *Registry) keyOfStream(address string) (apiKey string, ok bool) {
	if r == nil {
		return "", false
	}
	if c := r.current.Load(); c != nil {
		apiKey, ok = c.streams()[address]
	}
	return apiKey, ok
}

func (r *Registry) change(f func(map[string]*Project)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := maps.Clone(r.load())
	if m == nil {
		m = make(map[string]*Project)
	}
	f(m)
	r.current.Store(&registered{m, sync.OnceValue(func() map[string]string {
		streams := make(map[string]string, len(m))
		for apiKey := range m {
			streams[string(appendStreamAddress(nil, apiKey))] = apiKey
		}
		return streams
	})})
}
