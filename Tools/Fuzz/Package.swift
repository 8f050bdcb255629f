// swift-tools-version: 6.2
import PackageDescription

// The fuzzer is a package of its own, since its targets need build flags that no others have: `make fuzz`.
let package = Package(
    name: "juice-maker-fuzz", platforms: [.macOS(.v15)], dependencies: [.package(name: "juice-maker", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz", dependencies: [.product(name: "MessageSamples", package: "juice-maker")],
            // libFuzzer provides the main function.
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    ],
    swiftLanguageModes: [.v6]
)
