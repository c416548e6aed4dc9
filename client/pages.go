package client

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
)

// page is one page of a list.
type page[T any] struct {
	Data       []T    `json:"data"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor"`
}

// list goes through a list, newest first, and asks for its pages as they are needed. It ends with the first error.
// It may be ranged over again, from the start.
func list[T any](ctx context.Context, c *Client, path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		query := url.Values{"limit": {strconv.Itoa(c.pageSize())}}
		for {
			p, err := get[page[T]](ctx, c, path+"?"+query.Encode())
			if err != nil {
				yield(zero, err)
				return
			}
			for _, item := range p.Data {
				if !yield(item, nil) {
					return
				}
			}
			if !p.HasMore {
				return
			}
			if p.NextCursor == "" || p.NextCursor == query.Get("cursor") {
				yield(zero, errors.New("bankapi: the list has more, but does not say where"))
				return
			}
			query.Set("cursor", p.NextCursor)
		}
	}
}

func (c *Client) pageSize() int {
	if c.PageSize == 0 {
		return 100
	}
	return c.PageSize
}
