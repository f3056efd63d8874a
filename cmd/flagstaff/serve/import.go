package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
)

// importFile creates the flags and cohorts of a file in a project of the store,
// and prints a report. Servers that run on the store follow within a second.
func (m *Main) importFile(ctx context.Context, s *settings) (err error) {
	document, err := os.ReadFile(s.importFile)
	if err != nil {
		return fmt.Errorf("read the file of -import: %w", err)
	}
	log := s.logger(m.Stderr)
	store, err := s.openExisting(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	project, err := s.project(ctx, store)
	if err != nil {
		return err
	}
	service, err := management.New(management.Config{Store: store, Data: store, Log: log})
	if err != nil {
		return err
	}
	report, err := service.Import(ctx, project.ID, document, s.nextPages(m.Stdout))
	if err != nil {
		return fmt.Errorf("import %s into project %q: %w", s.importFile, project.Name, err)
	}
	printReport(m.Stdout, report, project.Name)
	if len(report.Left) > 0 {
		return fmt.Errorf("%d of the file's flags and cohorts were not imported", len(report.Left))
	}
	return nil
}

// nextPages returns the function that fetches the pages of a list which goes on, nil
// without -import-key. The key goes to one server only.
func (s *settings) nextPages(w io.Writer) func(context.Context, string) ([]byte, error) {
	if s.importKey == "" {
		return nil
	}
	var origin string
	client := &http.Client{
		Timeout:       importTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, address string) ([]byte, error) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("its address is no http or https URL")
		}
		if u.Scheme == "http" && !isLoopback(u.Hostname()) {
			return nil, errors.New("its address is not https, and the key of -import-key is not sent in the clear")
		}
		if from := u.Scheme + "://" + u.Host; origin == "" {
			origin = from
			fmt.Fprintf(w, "fetching the other pages from %s\n", origin)
		} else if from != origin {
			return nil, fmt.Errorf("it is on another server than the page before, %s", origin)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+s.importKey)
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, flags.MaxDocument))
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("the server answers %s", response.Status)
		}
		return body, err
	}
}

// importTimeout is how long one page may take.
const importTimeout = time.Minute

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func printReport(w io.Writer, r *management.ImportReport, project string) {
	for _, left := range r.Left {
		fmt.Fprintf(w, "not imported: %s: %s\n", left.What, left.Reason)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintf(w, "imported %d flags and %d cohorts into project %q\n", len(r.Flags), len(r.Cohorts), project)
	if len(r.Unchanged) > 0 {
		fmt.Fprintf(w, "%d flags and cohorts were there already, and are the same\n", len(r.Unchanged))
	}
	if len(r.Flags) > 0 {
		fmt.Fprintf(w, "each flag has the same value as in the file for %d random subjects\n", r.Parity)
	}
}

// project returns the project of -project-key, or the first one.
func (s *settings) project(ctx context.Context, store management.Store) (*management.Project, error) {
	list, err := store.Projects(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no project yet; start the server on it first", s.storeName())
	}
	if s.projectKey == "" {
		return &list[0], nil
	}
	i := slices.IndexFunc(list, func(p management.Project) bool { return p.APIKey == s.projectKey })
	if i < 0 {
		return nil, fmt.Errorf("%s has no project with the key of -project-key", s.storeName())
	}
	return &list[i], nil
}
