package client

import (
	"context"
	"net/http"
	"time"
)

// User is a customer.
type User struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"created_at"`
}

// Session is a log-in. Its token is for [New].
type Session struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
	User      User      `json:"user"`
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// SignUp makes a customer. It is sent once: after a [LostError] try to log in.
func (c *Client) SignUp(ctx context.Context, email, password string) (User, error) {
	var u User
	_, err := c.do(ctx, http.MethodPost, "/users", "", credentials{email, password}, &u)
	return u, err
}

// LogIn gives a session. It is sent once: a failed log-in counts against the account.
func (c *Client) LogIn(ctx context.Context, email, password string) (Session, error) {
	var s Session
	_, err := c.do(ctx, http.MethodPost, "/sessions", "", credentials{email, password}, &s)
	return s, err
}

// LogOut ends the session whose token the client has.
func (c *Client) LogOut(ctx context.Context) error {
	_, err := c.do(ctx, http.MethodDelete, "/sessions/current", "", nil, nil)
	return err
}

// Me says whose token the client has.
func (c *Client) Me(ctx context.Context) (User, error) {
	return get[User](ctx, c, "/me")
}

// RequestPasswordReset has a mail with a token sent to the address, if a customer has it. Whether one has is not told.
func (c *Client) RequestPasswordReset(ctx context.Context, email string) error {
	in := struct {
		Email string `json:"email"`
	}{email}
	_, err := c.do(ctx, http.MethodPost, "/password-resets", "", in, nil)
	return err
}

// ResetPassword sets a new password with the token from the mail, and ends all sessions.
func (c *Client) ResetPassword(ctx context.Context, token, password string) error {
	in := struct {
		Token    string `json:"token"`
		Password string `json:"password"`
	}{token, password}
	_, err := c.do(ctx, http.MethodPost, "/password-resets/confirm", "", in, nil)
	return err
}
