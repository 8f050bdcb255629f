// swift-tools-version: 6.2
import Foundation
import PackageDescription

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")

// The modules and what each may import: docs/ARCHITECTURE.md.
let package = Package(
    name: "juice-maker",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "juice", targets: ["juice"]),
        .library(name: "Kafka", targets: ["Kafka"]),
        .library(name: "JuiceMessages", targets: ["JuiceMessages"]),
        // For the fuzzer, which is a package of its own.
        .library(name: "MessageSamples", targets: ["MessageSamples"]),
    ],
    // Exact, since this is a program: it is built from tested versions. docs/LICENSES.md also lists what they depend on.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // MARK: - Sources

        .systemLibrary(name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"]), .brew(["librdkafka"])]),
        // Processor instructions that Swift does not offer.
        .systemLibrary(name: "CProcessor"),
        .target(name: "Kafka", dependencies: ["CRdKafka", logging]),
        .target(name: "JuiceDomain"),
        .target(name: "JuiceMessages", dependencies: ["CProcessor", "JuiceDomain"]),
        .target(name: "JuiceEngine", dependencies: ["CProcessor", "JuiceDomain", "JuiceMessages"]),
        .target(
            name: "JuiceService",
            dependencies: ["JuiceDomain", "JuiceEngine", "JuiceMessages", "Kafka", lifecycle, logging, metrics]),
        .target(
            name: "JuiceWeb",
            dependencies: [
                "JuiceDomain", "JuiceMessages", "Kafka", coreMetrics, hummingbird, lifecycle, logging, metrics, nio,
                .product(name: "HummingbirdCore", package: "hummingbird"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            // Embedded in the program, so that it needs no folder beside it.
            resources: [.embedInCode("Kiosk/Page")]),
        .target(name: "JuiceAudit", dependencies: ["JuiceDomain", "JuiceMessages"]),
        .executableTarget(
            name: "juice",
            dependencies: [
                "JuiceAudit", "JuiceDomain", "JuiceMessages", "JuiceService", "JuiceWeb",
                "Kafka", argumentParser, coreMetrics, hummingbird, lifecycle, logging,
            ]),

        // MARK: - Tools

        .executableTarget(
            name: "simulate",
            dependencies: [
                "JuiceAudit", "JuiceDomain", "JuiceEngine", "JuiceMessages", "Kafka", "MessageSamples", argumentParser,
            ],
            path: "Tools/simulate"),
        // Torture, benchmark, soak, and what checks outside of Swift start.
        .executableTarget(
            name: "lab",
            dependencies: [
                "CLab", "CRdKafka", "FaultyNetwork", "JuiceDomain", "JuiceEngine", "JuiceMessages", "JuiceService",
                "Kafka", "MessageSamples", argumentParser, lifecycle, logging,
            ],
            path: "Tools/lab"),
        // Child processes, a counting malloc, and the benchmark's baseline: loops in plain C on librdkafka.
        .target(name: "CLab", dependencies: ["CRdKafka"], path: "Tools/CLab"),
        // A proxy in front of brokers that holds back, cuts, delays and repeats single requests; faults of the embedded broker.
        .target(
            name: "FaultyNetwork",
            dependencies: ["CRdKafka", "Kafka", nio, .product(name: "NIOPosix", package: "swift-nio")],
            path: "Tools/FaultyNetwork"),
        // Literal and random messages, and properties that hold for any bytes: for tests, schemas and the fuzzer.
        .target(name: "MessageSamples", dependencies: ["JuiceDomain", "JuiceMessages"], path: "Tools/MessageSamples"),
        // The Swift example of docs/INTEGRATION.md.
        .executableTarget(
            name: "order-example", dependencies: ["JuiceMessages", "Kafka", logging], path: "Examples/swift"),

        // MARK: - Tests

        .target(
            name: "TestSupport", dependencies: ["JuiceWeb", "Kafka", hummingbird, lifecycle, logging], path: "Tests/Support"),
        .testTarget(
            name: "CoreTests",
            dependencies: [
                "JuiceAudit", "JuiceDomain", "JuiceEngine", "JuiceMessages", "MessageSamples", "TestSupport", "simulate",
            ],
            path: "Tests/Core"),
        .testTarget(
            name: "BrokerTests",
            dependencies: [
                "CRdKafka", "FaultyNetwork", "JuiceDomain", "JuiceEngine", "JuiceMessages", "JuiceService", "Kafka",
                "TestSupport", "simulate", .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            path: "Tests/Broker"),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "FaultyNetwork", "JuiceAudit", "JuiceDomain", "JuiceMessages", "JuiceService", "JuiceWeb", "Kafka",
                "MessageSamples", "TestSupport", "juice", "simulate", coreMetrics, hummingbird, lifecycle,
            ],
            path: "Tests/Program"),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "FaultyNetwork", "JuiceDomain", "JuiceMessages", "Kafka", "MessageSamples", "TestSupport", "lab", nio,
            ],
            path: "Tests/Tools"),
    ],
    swiftLanguageModes: [.v6]
)

// The image is built from the sources alone, so that a changed test does not rebuild it.
if !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/Tests") {
    package.targets.removeAll { $0.isTest || $0.path != nil }
    package.products.removeAll { $0.name == "MessageSamples" }
}
