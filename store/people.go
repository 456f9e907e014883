package store

import (
	"context"

	"switchboard/router/core"
	routerpeople "switchboard/router/people"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/people"
)

// SetPeople makes the people of the settings exactly these, and returns what came of it. Whom they name
// no more is away. Those of other sources stay, without the identities that are named here; who came
// in where the policy was open becomes who is named with their last one. A person without a source is
// from the settings. *people.FaultsError: see CheckPeople.
//
// An identity that somebody was given at run time and that the settings leave out is a
// stranger's from then on; the log says so.
func (r *Router) SetPeople(ctx context.Context, named []core.Person) (done routerpeople.Set, err error) {
	var set people.Changes
	err = r.db.Write(ctx, database.Durable, "set people", func(t *database.Tx) error {
		set = people.Changes{Set: routerpeople.Set{Paused: map[string][]int64{}}, Ended: map[string][]string{}}
		if err := people.Set(t, named, &set); err != nil {
			return err
		}
		for _, name := range set.Demoted {
			paused, err := jobs.PauseForRights(t, name)
			if err != nil {
				return err
			} else if len(paused) > 0 {
				set.Paused[name] = paused
			}
		}
		return nil
	})
	if err != nil {
		return done, err
	}
	log := r.db.Log()
	for _, name := range set.Left {
		log.WarnContext(ctx, "a person is no longer in the settings file and is away; their jobs and messages wait", "person", name)
	}
	for _, name := range set.Back {
		log.InfoContext(ctx, "a person who was away is in the settings file again", "person", name)
	}
	for name, gone := range set.Ended {
		log.WarnContext(ctx, "the settings name somebody who was named at run time, without all identities; those left out are strangers now", "person", name, "identities", gone)
	}
	return set.Set, nil
}
