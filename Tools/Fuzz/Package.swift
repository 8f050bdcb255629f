// swift-tools-version: 6.2
import PackageDescription

// The fuzzer is a package of its own, since its targets are built with other flags than any other: `make fuzz`.
let package = Package(
    name: "juice-maker-fuzz", platforms: [.macOS(.v15)], dependencies: [.package(name: "juice-maker", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz", dependencies: [.product(name: "MessageSamples", package: "juice-maker")],
            // There is no main function here: libFuzzer brings it.
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    ],
    swiftLanguageModes: [.v6]
)
