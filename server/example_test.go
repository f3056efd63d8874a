package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server"
)

func Example() {
	// Definitions come from a file, a database, or as here from a string.
	definitions, err := flags.Decode(strings.NewReader(`{"flags":[
		{"id":1,"key":"new-checkout","active":true,"version":2,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":100}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	evaluator := new(flags.Evaluator)
	evaluator.Swap(snapshot) // later, too, whenever definitions change

	projects := new(server.Registry)
	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Flags: evaluator})
	s, err := server.New(server.Config{Projects: projects})
	if err != nil {
		log.Fatal(err)
	}

	// In a program: http.Server{Addr: …, Handler: s, ReadHeaderTimeout: …}.
	srv := httptest.NewServer(s)
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/flags?v=1", "application/json",
		strings.NewReader(`{"api_key":"phc_demo","distinct_id":"user-1","person_properties":{"plan":"pro"}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	answer, _, _ := strings.Cut(string(body), `,"requestId"`)
	fmt.Println(resp.Status, answer)
	// Output: 200 OK {"featureFlags":{"new-checkout":true},"featureFlagPayloads":{},"errorsWhileComputingFlags":false
}

// What clients fetch besides values is rendered once. Package catalog does this for
// the projects of a management store.
func ExamplePublish() {
	published, err := server.Publish(server.Publication{
		Project: 1, APIKey: "phc_demo",
		Surveys: []json.RawMessage{json.RawMessage(`{"id":"nps","name":"NPS","type":"popover"}`)},
		Members: map[string]any{"heatmaps": true},
	})
	if err != nil {
		log.Fatal(err)
	}
	projects := new(server.Registry)
	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Published: published, ClientConfig: published.Client()})
	s, err := server.New(server.Config{Projects: projects})
	if err != nil {
		log.Fatal(err)
	}

	fetch := func(etag string) *http.Response {
		request := httptest.NewRequest(http.MethodGet, "/api/surveys/?token=phc_demo", nil)
		request.Header.Set("If-None-Match", etag)
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer.Result()
	}
	first := fetch("")
	body, err := io.ReadAll(first.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Status, string(body))
	fmt.Println(fetch(first.Header.Get("ETag")).Status)
	// Output:
	// 200 OK {"surveys":[{"id":"nps","name":"NPS","type":"popover"}],"survey_config":null}
	// 304 Not Modified
}

// printer is a Sink that stores nothing.
type printer struct{}

func (printer) Write(_ context.Context, events []capture.Event) error {
	for _, e := range events {
		fmt.Println(e.Project, e.Name, e.DistinctID, string(e.Properties))
	}
	return nil
}

// A server takes events if it has a Collector. Clients are answered when their
// events are durable; the Collector writes the events of many requests together.
func Example_capture() {
	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: printer{}}) // usually a database
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- collector.Run(ctx) }()

	projects := new(server.Registry)
	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo"})
	s, err := server.New(server.Config{Projects: projects, Capture: server.CaptureConfig{Collector: collector}})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(s)
	resp, err := http.Post(srv.URL+"/batch/", "application/json",
		strings.NewReader(`{"api_key":"phc_demo","batch":[{"event":"signed up","distinct_id":"user-1","properties":{"plan":"pro"}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, string(body))

	// First no more requests, then what was taken is written.
	srv.Close()
	cancel()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 signed up user-1 {"plan":"pro","$ip":"127.0.0.1"}
	// 200 OK {"status":1}
}

// The management API is there if there is a management.Service. Its first user and
// key are made by the program; all others can be made over HTTP.
func Example_management() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{}) // usually a file
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	service, err := management.New(management.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := service.CreateUser(ctx, management.NewUser{Email: "ada@acme.example", Staff: true}); err != nil {
		log.Fatal(err)
	}
	key, err := service.IssueKey(ctx, "ada@acme.example", "first", "user:read")
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.New(server.Config{Projects: new(server.Registry), Management: server.ManagementConfig{Service: service}})
	if err != nil {
		log.Fatal(err)
	}

	request := httptest.NewRequest(http.MethodGet, "/api/users/@me/", nil)
	request.Header.Set("Authorization", "Bearer "+*key.Value)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	var user struct {
		Email   string `json:"email"`
		IsStaff bool   `json:"is_staff"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&user); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Code, user.Email, user.IsStaff)
	// Output: 200 ada@acme.example true
}
