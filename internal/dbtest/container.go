package dbtest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

const requireContainers = "BANKAPI_TEST_REQUIRE_CONTAINERS"

func containersRequired() bool { return os.Getenv(requireContainers) == "1" }

// useContainers decides between a container of image and local binaries.
func useContainers(image string) (bool, error) {
	if os.Getenv(requireContainers) == "0" {
		return false, nil
	}
	engine, err := containerEngine()
	if containersRequired() {
		return true, err
	}
	if err != nil {
		return false, nil // no engine: binaries are next in turn
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = engine.ImageInspect(ctx, image)
	return err == nil, nil
}

// containerEngine finds the engine as testcontainers does, after giving it defaults that fit this machine.
var containerEngine = sync.OnceValues(func() (client.APIClient, error) {
	tclog.SetDefault(quiet{})
	// In a container that runs an engine of its own, published ports are here and not at the gateway.
	if _, err := net.InterfaceByName("docker0"); err == nil && isFile("/.dockerenv") {
		setDefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	// testcontainers tidies up with a privileged container of an image that may not be here; our reaper needs none.
	if _, err := exec.LookPath("docker"); err == nil {
		setDefault("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, fmt.Errorf("no container engine answers: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := provider.Health(ctx); err != nil {
		return nil, fmt.Errorf("no container engine answers: %w", err)
	}
	return provider.Client(), nil
})

// boxed is a server in a container, published on a port of the loopback interface that it keeps.
type boxed struct {
	engine  client.APIClient
	id      string
	address string
	ping    func(context.Context) error
}

func postgresContainer() (instance, error) {
	address, box, err := runContainer(postgresImage, "5432/tcp",
		testcontainers.WithEnv(map[string]string{
			"POSTGRES_USER": "bankapi", "POSTGRES_PASSWORD": "bankapi", "POSTGRES_DB": "bankapi",
		}),
		testcontainers.WithCmd("postgres", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"))
	if err != nil {
		return nil, err
	}
	box.address = "postgres://bankapi:bankapi@" + address + "/bankapi?sslmode=disable"
	box.ping = func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, box.address)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}
	return box, await(box.ping)
}

func redisContainer() (instance, error) {
	address, box, err := runContainer(redisImage, "6379/tcp",
		testcontainers.WithCmd(append([]string{"redis-server"}, redisArgs...)...))
	if err != nil {
		return nil, err
	}
	box.address = "redis://" + address + "/0"
	box.ping = func(context.Context) error { return awaitRedis(box.address) }
	return box, box.ping(context.Background())
}

func runContainer(image, port string, options ...testcontainers.ContainerCustomizer) (string, *boxed, error) {
	engine, err := containerEngine()
	if err != nil {
		return "", nil, err
	}
	hostPort, err := freePort()
	if err != nil {
		return "", nil, err
	}
	inside := network.MustParsePort(port)
	options = append(options,
		testcontainers.WithExposedPorts(port),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.PortBindings = network.PortMap{inside: {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: hostPort}}}
		}))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	box, err := testcontainers.Run(ctx, image, options...)
	if err != nil {
		return "", nil, fmt.Errorf("run a container of %s: %w", image, err)
	}
	const remove = `docker --host "$1" rm --force --volumes "$2" >/dev/null 2>&1`
	if err := whenWeEnd(remove, engine.DaemonHost(), box.GetContainerID()); err != nil {
		return "", nil, err
	}
	host, err := box.Host(ctx)
	return net.JoinHostPort(host, hostPort), &boxed{engine: engine, id: box.GetContainerID()}, err
}

func (b *boxed) url() string { return b.address }

func (b *boxed) stop() error {
	seconds := 20
	_, err := b.engine.ContainerStop(context.Background(), b.id, client.ContainerStopOptions{Timeout: &seconds})
	return err
}

func (b *boxed) kill() error {
	_, err := b.engine.ContainerKill(context.Background(), b.id, client.ContainerKillOptions{Signal: "KILL"})
	return err
}

func (b *boxed) start() error {
	if _, err := b.engine.ContainerStart(context.Background(), b.id, client.ContainerStartOptions{}); err != nil {
		return err
	}
	return await(b.ping)
}

func (b *boxed) pause() error {
	_, err := b.engine.ContainerPause(context.Background(), b.id, client.ContainerPauseOptions{})
	return err
}

func (b *boxed) resume() error {
	_, err := b.engine.ContainerUnpause(context.Background(), b.id, client.ContainerUnpauseOptions{})
	return err
}

func setDefault(name, value string) {
	if _, ok := os.LookupEnv(name); !ok {
		_ = os.Setenv(name, value) // fails only for a malformed name
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// quiet drops testcontainers' running commentary.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
