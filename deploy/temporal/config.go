// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	clusterName = "lake"
	storeName   = "sqlite"
	// clusterID only has to differ between clusters that replicate to each
	// other, which this one never does.
	clusterID = "1ac0b4de-0000-4000-8000-000000000001"
	// historyShards is fixed for the life of a file. SQLite has one writer, so
	// more shards would only add background polling.
	historyShards = 1
	// pollRate lifts the rate at which a queue looks for new tasks. The default
	// of 20 a second adds up to 50 ms to every hop of every workflow: ten
	// activities in a row took 550 ms, and take 123 ms with this.
	pollRate = 2000
)

// dynamicDefaults are the settings that differ from the server's own.
func dynamicDefaults() map[string]any {
	return map[string]any{
		"history.transferProcessorMaxPollRPS":   pollRate,
		"history.timerProcessorMaxPollRPS":      pollRate,
		"history.visibilityProcessorMaxPollRPS": pollRate,
		"history.outboundProcessorMaxPollRPS":   pollRate,
		// No packet leaves the machine unless someone asks for it.
		"frontend.enableServerVersionCheck": false,
		// One operator watching many procedures lists more often than the
		// default of ten a second allows.
		"frontend.namespaceRPS.visibility": 100,
	}
}

// serverOptions assembles the server from the command line and the store.
func serverOptions(o options, sql *config.SQL, stderr io.Writer) ([]temporal.ServerOption, error) {
	conf, err := serverConfig(o, sql)
	if err != nil {
		return nil, err
	}
	values := dynamicDefaults()
	overrides, err := dynamicValues(o.dynamicConfig)
	if err != nil {
		return nil, err
	}
	dynamic := dynamicconfig.StaticClient{}
	for _, m := range []map[string]any{values, overrides} {
		for k, v := range m {
			dynamic[dynamicconfig.MakeKey(k)] = v
		}
	}
	logger := newLogger(o.logLevel, stderr)
	authorizer := authorization.NewNoopAuthorizer()
	claims := authorization.NewNoopClaimMapper()
	return []temporal.ServerOption{
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(o, conf)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamic),
	}, nil
}

// serverConfig is the static configuration of the one-process cluster.
func serverConfig(o options, sql *config.SQL) (*config.Config, error) {
	ports, err := freePorts(o.ip, 3)
	if err != nil {
		return nil, err
	}
	service := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: o.ip}}
	}
	var c config.Config
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: o.ip}
	c.Persistence = config.Persistence{
		DefaultStore: storeName, VisibilityStore: storeName, NumHistoryShards: historyShards,
		DataStores: map[string]config.DataStore{storeName: {SQL: sql}},
	}
	c.ClusterMetadata = clusterMetadata(o)
	c.DCRedirectionPolicy.Policy = "noop"
	c.Services = map[string]config.Service{
		string(primitives.FrontendService): service(o.port),
		string(primitives.HistoryService):  service(ports[0]),
		string(primitives.MatchingService): service(ports[1]),
		string(primitives.WorkerService):   service(ports[2]),
	}
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State = "disabled"
	c.NamespaceDefaults.Archival.Visibility.State = "disabled"
	c.PublicClient.HostPort = o.address()
	return &c, nil
}

func clusterMetadata(o options) *cluster.Config {
	return &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled: true, InitialFailoverVersion: 1, RPCAddress: o.address(), ClusterID: clusterID,
		}},
	}
}

// staticHosts replaces gossip between the services: all of them are here.
func staticHosts(o options, c *config.Config) map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, service := range c.Services {
		address := net.JoinHostPort(o.ip, strconv.Itoa(service.RPC.GRPCPort))
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(address)
	}
	return hosts
}

// newLogger writes JSON lines to w.
func newLogger(level string, w io.Writer) log.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(w)), log.ParseZapLevel(level))
	return log.NewZapLogger(zap.New(core))
}
