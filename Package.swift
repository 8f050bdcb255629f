// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The modules and what each may know: docs/ARCHITECTURE.md.
let package = Package(
    name: "juice-maker", platforms: [.macOS(.v15)],
    products: [
        .executable(name: "juice", targets: ["juice"]), .library(name: "Kafka", targets: ["Kafka"]),
        .library(name: "JuiceMessages", targets: ["JuiceMessages"]),
        // For the fuzzer, which is a package of its own.
        .library(name: "MessageSamples", targets: ["MessageSamples"]),
    ],
    // Exact, since this is a program: what was tested is what is built. docs/LICENSES.md has what these bring along.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"]), .brew(["librdkafka"])]),
        .systemLibrary(name: "CPrefetch"),

        .target(name: "Kafka", dependencies: ["CRdKafka", .product(name: "Logging", package: "swift-log")]),
        .target(name: "JuiceDomain"),
        .target(name: "JuiceMessages", dependencies: ["JuiceDomain", "CPrefetch"]),
        .target(
            name: "JuiceEngine",
            dependencies: ["JuiceDomain", "JuiceMessages", "CPrefetch"]
        ),
        .target(
            name: "JuiceService",
            dependencies: [
                "Kafka", "JuiceDomain", "JuiceMessages", "JuiceEngine", .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        // The HTTP server of all commands, and what a process shows of itself: health and metrics.
        .target(
            name: "JuiceHTTP",
            dependencies: [
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        // The web page on top of the topics: one more client, which knows nothing of the service.
        .target(
            name: "JuiceKiosk",
            dependencies: [
                "Kafka", "JuiceDomain", "JuiceMessages",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // Part of the program, so that it needs no folder beside it.
            resources: [.embedInCode("Page")]),
        // `juice restock-bot`: one more client of the topics, which knows nothing of the service.
        .target(
            name: "JuiceRestockBot",
            dependencies: ["Kafka", "JuiceDomain", "JuiceMessages", .product(name: "Metrics", package: "swift-metrics")]),
        .executableTarget(
            name: "juice",
            dependencies: [
                "JuiceAudit", "JuiceEngine", "JuiceHTTP", "JuiceKiosk", "JuiceDomain", "JuiceMessages",
                "JuiceRestockBot", "JuiceService", "Kafka",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // Faults of the embedded broker on purpose.
        .target(name: "BrokerFaults", dependencies: ["CRdKafka", "Kafka"], path: "Tests/BrokerFaults"),

        // What tests of several modules share.
        .target(
            name: "TestSupport",
            dependencies: [
                "JuiceHTTP", .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], path: "Tests/TestSupport"),

        // Knows the contract and nothing of the service, so that the one can be held against the other.
        .target(name: "JuiceAudit"), .testTarget(name: "JuiceAuditTests", dependencies: ["JuiceAudit"]),
        // A proxy before brokers that holds back, cuts, delays and repeats single requests.
        .target(
            name: "FaultyNetwork",
            dependencies: [
                "CRdKafka", .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ], path: "Tools/FaultyNetwork"),
        .testTarget(
            name: "FaultyNetworkTests",
            dependencies: ["FaultyNetwork", .product(name: "NIOCore", package: "swift-nio")]),
        .executableTarget(
            name: "torture",
            dependencies: [
                "CRdKafka", "FaultyNetwork", "JuiceAudit", "JuiceDomain", "Kafka",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tools/torture"
        ),
        .testTarget(name: "tortureTests", dependencies: ["JuiceAudit", "torture"]),
        .executableTarget(
            name: "simulate",
            dependencies: [
                "JuiceAudit", "JuiceEngine", "JuiceDomain", "JuiceMessages", "JuiceRestockBot", "Kafka",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/simulate"
        ),

        // Run by `make bench`, `make heap` and `make instructions`.
        .executableTarget(
            name: "bench",
            dependencies: [
                "CBench", "JuiceEngine", "JuiceDomain", "JuiceMessages", "JuiceService", "Kafka",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tools/bench"
        ),
        // The yardstick of the benchmark, loops in plain C on librdkafka; and a malloc that counts.
        .target(name: "CBench", dependencies: ["CRdKafka"], path: "Tools/CBench"),
        .testTarget(name: "benchTests", dependencies: ["bench", "JuiceDomain", "JuiceMessages", "Kafka", "TestSupport"]),

        // Run by `make soak`.
        .executableTarget(
            name: "soak",
            dependencies: [
                "BrokerFaults", "Kafka", "CRdKafka", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tools/soak"
        ),
        // Run by `make contract` and `make test-browser`.
        .executableTarget(
            name: "fixtures",
            dependencies: [
                "BrokerFaults", "JuiceMessages", "JuiceService", "Kafka", "MessageSamples",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], path: "Tools/fixtures"),
        .testTarget(
            name: "JuiceKioskTests",
            dependencies: [
                "BrokerFaults", "JuiceHTTP", "JuiceKiosk", "JuiceDomain", "JuiceMessages", "JuiceService", "Kafka", "TestSupport",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]), .testTarget(name: "KafkaTests", dependencies: ["BrokerFaults", "CRdKafka", "Kafka", "TestSupport"]),
        .testTarget(
            name: "JuiceHTTPTests",
            dependencies: [
                "JuiceHTTP", "TestSupport", .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]), .testTarget(name: "JuiceDomainTests", dependencies: ["JuiceDomain"]),
        // Messages word for word and at random, and what must hold of any bytes: for the tests of encoders and decoders, for
        // the check of the schemas and for the fuzzer.
        .target(
            name: "MessageSamples", dependencies: ["JuiceDomain", "JuiceMessages"], path: "Tests/MessageSamples"),
        // The Swift example of docs/INTEGRATION.md.
        .executableTarget(
            name: "order-example", dependencies: ["JuiceMessages", "Kafka", .product(name: "Logging", package: "swift-log")],
            path: "Examples/swift"),
        .testTarget(
            name: "JuiceMessagesTests", dependencies: ["MessageSamples", "JuiceDomain", "JuiceMessages"],
            exclude: ["Corpus"]),
        .testTarget(
            name: "JuiceEngineTests",
            dependencies: ["JuiceEngine", "JuiceDomain", "JuiceMessages", "TestSupport", "simulate"]),
        .testTarget(
            name: "JuiceServiceTests",
            dependencies: [
                "BrokerFaults", "JuiceEngine", "JuiceDomain", "JuiceMessages", "JuiceService", "Kafka", "TestSupport", "simulate",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        .testTarget(
            name: "JuiceRestockBotTests",
            dependencies: ["JuiceHTTP", "JuiceRestockBot", "Kafka", "JuiceDomain", "JuiceMessages"]),
        .testTarget(
            name: "juiceTests",
            dependencies: [
                "BrokerFaults", "juice", "Kafka", "JuiceAudit", "JuiceHTTP", "JuiceKiosk",
                "JuiceDomain", "JuiceMessages", "JuiceRestockBot", "JuiceService", "MessageSamples", "TestSupport",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The image is built from the sources alone, so that a change of a test does not build it anew.
if !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/Tests") {
    package.targets.removeAll { $0.isTest || $0.path != nil }
    package.products.removeAll { $0.name == "MessageSamples" }
}
