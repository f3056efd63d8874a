package shell_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing/fstest"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// A greeting is what the template shows. Every view of a page embeds the Layout.
type greeting struct {
	shell.Layout
	Flags int
}

// greet answers for the project that the path names.
func greet(q *shell.Request) error {
	list, err := q.Service.ListFlags(q.Context(), q.By, q.Ref, management.FlagQuery{}, 1, 0)
	if err != nil {
		return err
	}
	return q.Render(http.StatusOK, "greeting", &greeting{Flags: list.Total})
}

// A program adds a screen of its own to the console: an entry of the navigation, and a page
// that people see who are signed in and may see the project.
func Example() {
	screens := shell.Group{
		Screens: []shell.Screen{{
			Title: "Greeting", Entry: 20, Path: "/greeting", // in the navigation, after all others
			Scope: shell.InProject,
			Pages: map[string]shell.Page{"GET /projects/{project}/greeting": greet},
		}},
		Templates: []fs.FS{fstest.MapFS{ // or an embed.FS
			"templates/greeting.html": {Data: []byte(
				`{{define "page"}}<h1>Welcome to {{.Project}}, which has {{.Flags}} flags</h1>{{end}}`)},
		}},
	}
	service, token := signedIn()
	pages, err := console.New(console.Config{Service: service, Prefix: "/console", Screens: []shell.Group{screens}})
	check(err)

	r := httptest.NewRequest(http.MethodGet, "https://flags.example.com/console/projects/1/greeting", nil)
	r.AddCookie(&http.Cookie{Name: "__Host-flagstaff", Value: token})
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	fmt.Println(w.Code, regexp.MustCompile(`<h1>.*</h1>`).FindString(w.Body.String()))
	// Output: 200 <h1>Welcome to Shop, which has 0 flags</h1>
}

// signedIn returns a service with a project, and the token of a session of its owner.
func signedIn() (service *management.Service, token string) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{})
	check(err)
	_, err = management.Bootstrap(ctx, store, management.First{Owner: "ada@example.com", Organization: "Acme", Project: "Shop"})
	check(err)
	service, err = management.New(management.Config{Store: store, Data: store})
	check(err)
	link, err := service.NewSignInLink(ctx, "ada@example.com")
	check(err)
	chosen := &management.ChosenPassword{Password: optional.Of("correct horse battery staple")}
	session, err := service.UseSignInLink(ctx, link, chosen, management.Client{})
	check(err)
	return service, session.Token
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
