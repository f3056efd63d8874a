package server_test

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server"
)

// A package adds an operation of its own to the API, for things that belong to a project.
func ExampleProjectRoute() {
	var service *management.Service // of the program
	_ = server.ManagementConfig{Service: service, Routes: []server.ProjectRoute{{
		Path: "/reports/{id}",
		Get: func(r *server.Request) error {
			access, err := service.Access(r.Context(), r.Principal(), r.Project(), "query:read")
			if err != nil {
				return err
			}
			return r.Answer(http.StatusOK, map[string]any{"id": r.Segment("id"), "project": access.Project.Name}, nil)
		},
	}}}
}
