import ArgumentParser
import Foundation
import Kafka
import TestSupport
import Testing

@testable import juice

/// Tests how a command line is completed from the environment and the configuration file.
@Suite(.serialized, .onOwnThread) struct SettingsTests {
    /// `juice config` has the options of `juice serve`, and does not wait for a file to become right.
    private func settings(
        _ arguments: [String] = ["config"], environment: [String: String] = [:], file: String? = nil
    ) throws -> Settings {
        guard let file else { return try Settings(arguments, environment: environment) }
        return try withFile(file) { try Settings(arguments + ["--config", $0], environment: environment) }
    }

    private func serve(_ settings: Settings) throws -> ServeOptions {
        try #require(try JuiceCommand.parseAsRoot(settings.arguments) as? ConfigCommand).options
    }

    @Test func optionsWinOverEnvironmentOverFile() throws {
        let file = #"{"group":"from file","instance-id":"from file","workers":4,"last":3}"#
        // An empty variable counts as not set.
        let environment = [
            "JUICE_GROUP": "from environment", "JUICE_INSTANCE_ID": "from environment", "JUICE_WAIT": "true", "JUICE_WORKERS": "",
        ]
        for group in [["--group", "from option"], ["--group=from option"]] {
            let options = try serve(settings(["config"] + group, environment: environment, file: file))
            #expect(options.group.group == "from option")
            #expect(options.instanceId == "from environment")
            #expect(options.workers == 4)
            #expect(options.language == .english)
        }
    }

    @Test func aSubcommandAndItsArgumentsAreLeftAlone() throws {
        let environment = ["JUICE_LAST": "7", "JUICE_STORE": "s", "JUICE_TIMEOUT": "3s"]
        let completed = ["dead-letters", "list", "--last=7", "--timeout=3s", "--pending"]
        #expect(try settings(["dead-letters", "list", "--pending"], environment: environment).arguments == completed)
        let order = ["order", "--store=s", "--timeout=3s", "kiwi", "--", "--timeout"]
        #expect(try settings(["order", "kiwi", "--", "--timeout"], environment: environment).arguments == order)
    }

    @Test(arguments: [[], ["serve", "--help"], ["serve", "-h"], ["--version"]]) func helpNeedsNoSettings(arguments: [String]) throws
    {
        #expect(try settings(arguments, environment: ["JUICE_NOTHING": "x"]).arguments == arguments)
    }

    @Test func everyOptionHasItsVariable() throws {
        var names: Set<String> = []
        func add(_ command: any ParsableCommand.Type) {
            let help = JuiceCommand.helpMessage(for: command, columns: 1000)
            names.formUnion(help.matches(of: /\n  (?:-h, )?--([a-z-]+)/).map { String($0.1) })
            command.configuration.subcommands.forEach(add)
        }
        add(JuiceCommand.self)
        #expect(OptionInfo.allNames == names.subtracting(["config", "help", "version"]))
        #expect(Settings.variable(of: "kafka-property-file") == "JUICE_KAFKA_PROPERTY_FILE")
    }

    @Test func badValuesNameWhereTheyCameFrom() throws {
        let expected: [(Settings, Failure.Status, String)] = [
            (try settings(["config", "--workers", "many"]), .usage, "'--workers <count>'"),
            (try settings(environment: ["JUICE_WORKERS": "many"]), .configuration, "JUICE_WORKERS in the environment"),
            (try settings(file: #"{"workers":"many"}"#), .configuration, "\"workers\" in /"),
        ]
        for (settings, status, place) in expected {
            let error = #expect(throws: (any Error).self) { try serve(settings) }
            let failure = settings.failure(error.map { JuiceCommand.message(for: $0) } ?? "", hint: nil)
            #expect(failure.status == status)
            #expect(failure.message.hasPrefix("The value 'many' is invalid for \(place)"), "\(failure.message)")
            #expect(failure.message.hasSuffix(": it must be a whole number, from 1 to 1000"), "\(failure.message)")
        }
    }

    @Test(arguments: [
        (#"{"bootstrap-server":"x"}"#, "sets \"bootstrap-server\", but there is no such setting; did you mean bootstrap-servers?"),
        (#"{"colour":"x"}"#, "sets \"colour\", but there is no such setting"),
        (#"{"workers":[1]}"#, "must be a text, a number, true or false"),
        (#"{"workers":null}"#, "must be a text, a number, true or false"), (#"["workers"]"#, "is not a JSON object"),
        (#"{"workers":1"#, "is not a JSON object"), (#"{"create-topics":"maybe"}"#, "must be true or false, not \"maybe\""),
        (#"{"workers":2,"low":":","workers" : 3}"#, "sets \"workers\" twice"),
        (#"{"kafka-property":{"acks":"1","acks":"all"}}"#, "sets \"acks\" twice"),
        (#"{"kafka-property":["acks=1"]}"#, "must be an object of texts and numbers"),
        (#"{"kafka-property":{"acks":["1"]}}"#, "must be an object of texts and numbers"),
        (#"{"stores":{"a":"b"}}"#, "must be a text, a number, true or false"),
        (#"{"stores":["a","b,c"]}"#, "must be a text, a number, true or false"),
    ])
    func refusesBadFiles(file: String, fault: String) {
        let failure = #expect(throws: Failure.self) { try settings(file: file) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.hasSuffix(fault) == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: [("true", true), ("1", true), ("YES", true), ("false", false), ("0", false), ("no", false)])
    func readsYesAndNo(text: String, value: Bool) throws {
        #expect(try serve(settings(environment: ["JUICE_CREATE_TOPICS": text])).createTopics == value)
        let no = try settings(["config", "--no-create-topics"], environment: ["JUICE_CREATE_TOPICS": text])
        #expect(try !serve(no).createTopics)
        #expect(try serve(settings(file: #"{"create-topics":true}"#)).createTopics)
    }

    @Test(arguments: [
        ("kafka", true), ("kafka1:9092,kafka2:9092", true), ("[::1]:9092", true), ("SASL_SSL://k:1", true), ("k:65535", true),
        ("", false), ("k:65536", false), ("k:99999999999999999999", false), ("k:0", false), ("k:", false), ("a:1,", false),
        ("::1:9092", false), ("a b", false),
    ])
    func brokersHavePorts(text: String, isValid: Bool) {
        #expect(((try? StockCommand.parse(["--bootstrap-servers", text])) != nil) == isValid)
    }

    /// The text, what it means, and how it is shown.
    @Test(arguments: [
        ("10s", Duration.seconds(10), "10s"), ("250ms", .milliseconds(250), "250ms"), ("90s", .seconds(90), "1m30s"),
        ("1h30m", .seconds(5400), "1h30m"), ("2d", .seconds(172_800), "2d"),
        ("1d2h3m4s5ms", .milliseconds(93_784_005), "1d2h3m4s5ms"),
        ("0", .zero, "0s"), ("0m", .zero, "0s"), ("1m500ms", .milliseconds(60_500), "1m500ms"),
    ])
    func readsDurations(text: String, duration: Duration, shown: String) {
        #expect(DurationText.parse(text) == duration)
        #expect(DurationText.text(duration) == shown)
    }

    @Test(arguments: ["", "10", "1.5h", "-1s", "s", "1m1h", "1s1s", "10 s", "1w", "٣s", "1000000000s", "nan", "soon"])
    func refusesInvalidDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(arguments: [("10", nil), ("0", nil), ("2d", nil), ("1d", Duration.seconds(86_400))] as [(String, Duration?)])
    func aDurationHasAUnitAndBounds(text: String, duration: Duration?) throws {
        let parsed = Result { try ClientOptions.parse(["--timeout", text]).timeout }
        #expect((try? parsed.get()) == duration)
        guard case .failure(let error) = parsed else { return }
        let expectation = "it must be a duration from 1ms to 1d with its units, such as 500ms, 30s or 1h30m"
        #expect(failure(error)?.message.hasSuffix(expectation) == true)
        #expect(try WindowOptions.parse(["--duplicate-window", "0"]).duplicateWindow == .zero)
    }

    // MARK: - Kafka properties

    @Test(arguments: [
        ("a=1", ["a": "1"]), ("a=1,b.c=2", ["a": "1,b.c=2"]), ("a=x,y\nb=2", ["a": "x,y", "b": "2"]),
        ("sasl.password=a,b=c,d", ["sasl.password": "a,b=c,d"]), ("\n a = 1 \n\n# b=2\n", ["a": "1"]),
        ("sasl.username = till\nsasl.password=a=b #c\n", ["sasl.username": "till", "sasl.password": "a=b #c"]),
    ])
    func onlyTheEndOfALineEndsAProperty(text: String, properties: [String: String]) throws {
        let settings = try settings(environment: ["JUICE_KAFKA_PROPERTY": text])
        #expect(settings.kafkaProperties.mapValues(\.value) == properties)
    }

    /// Errors must not quote values, even if a password is in the wrong place.
    @Test(arguments: [
        "hunter2", "linger.ms=1\nhunter2", "security.protocol=SASL_SSL,sasl.password=hunter2",
        "ssl.ca.location=hunter2", "linger.ms=hunter2", "acks=hunter2", "debug=hunter2",
        "partitioner=hunter2", "sasl.password=a\nhunter2=b", "a=hunter2",
        "security.protocol=SSL\nssl.ca.pem=hunter2", "security.protocol=SASL_SSL\nsasl.mechanism=hunter2",
    ])
    func errorsNeverQuoteValues(text: String) throws {
        let ways = [(["config"], ["JUICE_KAFKA_PROPERTY": text]), (["config", "--kafka-property", text], [:])]
        for (arguments, environment) in ways {
            let failure = #expect(throws: (any Error).self) {
                let options = try serve(settings(arguments, environment: environment))
                let configuration = KafkaConfiguration(try KafkaProperties.read(options.kafka))
                _ = try Producer(configuration: configuration, hooks: ClientHooks(logger: .quiet))
            }
            let text = (failure as? Failure)?.report ?? failure.map { "\($0)" } ?? ""
            #expect(!text.isEmpty && !text.contains("hunter2"))
        }
    }

    @Test func theNearestPropertyWins() throws {
        let settings = try settings(
            ["config", "--kafka-property", "batch.size=1"], environment: ["JUICE_KAFKA_PROPERTY": "batch.size=2\nretries=2"],
            file: #"{"kafka-property":{"batch.size":"3","retries":"3","linger.ms":3}}"#)
        let nearest = ["batch.size": "1", "retries": "2", "linger.ms": "3"]
        #expect(settings.kafkaProperties.mapValues(\.value) == nearest)
        #expect(try KafkaProperties.read(serve(settings).kafka) == nearest)
    }

    @Test func secretsAreRefusedOnTheCommandLineAlone() throws {
        let failure = #expect(throws: Failure.self) {
            try settings(["config", "--kafka-property", "client.id=a\nsasl.password=hunter2"])
        }
        #expect(failure?.status == .usage)
        #expect(failure?.message.hasPrefix("sasl.password must not be on the command line") == true)
        #expect(failure?.report.contains("hunter2") == false)

        let elsewhere = [
            try settings(environment: ["JUICE_KAFKA_PROPERTY": "sasl.password=hunter2"]),
            try settings(file: #"{"kafka-property":{"sasl.password":"hunter2"}}"#),
        ]
        for settings in elsewhere { #expect(try KafkaProperties.read(serve(settings).kafka) == ["sasl.password": "hunter2"]) }
    }

    /// Properties, how the failure begins, or nil if there is none, and whether it has a hint.
    @Test(
        arguments: [
            (["isolation.level": "x"], #"Kafka property "isolation.level" is not yours to set"#, false),
            (["group.protocol": "consumer"], #"Kafka property "group.protocol" is not yours to set"#, true),
            (["bootstrap.servers": "a:1"], #"Kafka property "bootstrap.servers" is not yours to set"#, true),
            (
                ["sesion.timeout.ms": "1", "linger.ms": "1"],
                #"there is no Kafka property "sesion.timeout.ms"; did you mean session.timeout.ms"#, false
            ),
            // A name of the Java client, one unlike any other, and one that may be a line of a password.
            (["key.deserializer": "1"], #"Kafka property "key.deserializer" exists only in Kafka's Java client"#, true),
            (["zzz.yyyyyyyyyyyyyyyyyyy": "1"], #"there is no Kafka property "zzz.yyyyyyyyyyyyyyyyyyy""#, false),
            (["MIIEv+/x=.": "1"], "there is no Kafka property of a name that was given", false),
            // Names of the client, of a topic, and one that librdkafka does not list.
            (["debug": "cgrp", "compression.type": "zstd", "test.mock.num.brokers": "1"], nil, false),
            (["ssl.ca.location": "/no/such/file"], "the file that ssl.ca.location names cannot be read: No such file", false),
            (["ssl.ca.pem": "/etc/ca.pem"], "ssl.ca.pem takes the text of a PEM file", true),
            (["ssl.ca.location": "/dev/null"], nil, false), (["ssl.ca.location": "probe"], nil, false),
            (
                ["security.protocol": "SASL_SSL"], "security.protocol is one of SASL's, which needs a sasl.mechanism", true
            ),
            (["security.protocol": "SASL_SSL", "sasl.mechanisms": "PLAIN"], nil, false), (["security.protocol": "SSL"], nil, false),
        ] as [([String: String], String?, Bool)]
    )
    func explainsInvalidProperties(properties: [String: String], beginning: String?, hasHint: Bool) throws {
        guard let beginning else { return try KafkaProperties.check(properties) }
        let failure = #expect(throws: Failure.self) { try KafkaProperties.check(properties) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.hasPrefix(beginning) == true, "\(failure?.message ?? "")")
        #expect((failure?.hint != nil) == hasHint)
    }

    /// Properties that the Java client names differently, and what they become: another property, none, or advice that names one.
    @Test(
        arguments: [
            (["ssl.endpoint.identification.algorithm": ""], ["ssl.endpoint.identification.algorithm": "none"], nil),
            (["ssl.endpoint.identification.algorithm": "https"], ["ssl.endpoint.identification.algorithm": "https"], nil),
            (["ssl.keystore.type": "PKCS12", "client.dns.lookup": "use_all_dns_ips"], [:], nil),
            (
                ["ssl.keystore.certificate.chain": "x", "max.request.size": "9"],
                ["ssl.certificate.pem": "x", "message.max.bytes": "9"], nil
            ),
            (["ssl.ca.location": certificate], ["ssl.ca.pem": certificate], nil),
            (["sasl.jaas.config": "hunter2"], nil, "sasl.username=… and sasl.password=…"),
            (["ssl.truststore.location": "/x.jks"], nil, "ssl.ca.location=…"),
            (["ssl.keystore.type": "JKS"], nil, "PKCS#12"), (["value.serializer": "x"], nil, "leave it out"),
            (["max.poll.records": "9"], nil, "leave it out"), (["buffer.memory": "9"], nil, "queue.buffering.max.kbytes"),
        ] as [([String: String], [String: String]?, String?)])
    func translatesOrExplainsJavaNames(given: [String: String], taken: [String: String]?, advice: String?) {
        let translated = JavaProperties.translated(given)
        if let taken { #expect(translated == taken) }
        guard let advice else { return }
        let failure = #expect(throws: Failure.self) { try KafkaProperties.check(translated) }
        #expect(failure?.status == .configuration && failure?.hint?.contains(advice) == true, "\(failure?.report ?? "")")
        #expect(failure?.report.contains("hunter2") == false)
    }

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMIIB+w==\nAAAA=\n-----END CERTIFICATE-----"

    /// In a property file, the environment and JSON, over several lines or in the single line of a Java property file.
    @Test(
        arguments: [
            certificate, certificate + "\n\n" + certificate + "\n",
            certificate.replacing("\n", with: "\\n"), certificate.replacing("\n", with: "\\n\\\n"),
            certificate.replacing("\n", with: " \\\n"),
        ])
    func takesCertificatesAsTexts(text: String) throws {
        let lines = Self.certificate + (text.hasSuffix("\n") ? "\n" + Self.certificate : "")
        let expected = ["ssl.ca.pem": lines, "linger.ms": "1"]
        let properties = "ssl.ca.pem = \(text)\n# a comment\nlinger.ms: 1"
        #expect(try KafkaProperties.parse(properties) { Failure(.configuration, "line \($0)") } == expected)
        #expect(try KafkaProperties.read(serve(settings(environment: ["JUICE_KAFKA_PROPERTY": properties])).kafka) == expected)
        let json = String(decoding: try JSONEncoder().encode(["ssl.ca.pem": text, "linger.ms": "1"]), as: UTF8.self)
        #expect(try KafkaProperties.read(serve(settings(file: "{\"kafka-property\":\(json)}")).kafka) == expected)
    }

    @Test func aLineBreakInAMemberIsNamed() {
        let failure = #expect(throws: Failure.self) {
            try settings(file: #"{"kafka-property":{"sasl.password":"hunter2\n"}}"#)
        }
        #expect(failure?.message.hasPrefix(#"the value of "sasl.password" in /"#) == true, "\(failure?.message ?? "")")
        let open = #expect(throws: Failure.self) {
            try KafkaProperties.check(["ssl.key.pem": "-----BEGIN PRIVATE KEY-----\nhunter2"])
        }
        #expect(open?.report.contains("hunter2") == false)
    }

    @Test func readsPropertiesFromAPipe() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("sasl.password=hunter2\n".utf8))
        try pipe.fileHandleForWriting.close()
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        let options = try KafkaOptions.parse(["--kafka-property-file", path])
        #expect(try KafkaProperties.read(options) == ["sasl.password": "hunter2"])
    }
}

/// Tests the output of `juice config`, and the known names.
@Suite(.serialized, .onOwnThread) struct ConfigTests {
    private func entries(
        _ arguments: String..., environment: [String: String] = [:]
    ) throws -> [String: Settings.Entry] {
        let settings = try Settings(["config"] + arguments, environment: environment)
        let command = try #require(try JuiceCommand.parseAsRoot(settings.arguments) as? ConfigCommand)
        return Dictionary(uniqueKeysWithValues: try command.entries(settings).map { ($0.name, $0) })
    }

    @Test func valuesHaveTheirSources() throws {
        let entries = try entries("--workers", "3", environment: ["JUICE_HTTP": "[::1]:80"])
        #expect(entries["workers"] == .init(name: "workers", value: "3", source: "--workers"))
        #expect(entries["http"] == .init(name: "http", value: "[::1]:80", source: "JUICE_HTTP in the environment"))
        #expect(entries["group"] == .init(name: "group", value: "juice-maker", source: "default"))
        #expect(entries["duplicate-window"]?.value == "1h")
        #expect(entries["create-topics"]?.value == "false")
        #expect(entries["menu"] == .init(name: "menu", value: nil, source: "default"))
    }

    @Test func everyOptionOfServeIsThere() throws {
        let names = OptionInfo.all(of: ServeCommand.self).keys
        #expect(Set(try entries().keys) == Set(names).subtracting(["config", "dry-run", "kafka-property"]))
    }

    @Test func propertiesAreShownWithoutSecrets() throws {
        let entries = try entries(
            "--kafka-property", "linger.ms=1", environment: ["JUICE_KAFKA_PROPERTY": "sasl.password=hunter2\nlinger.ms=2"])
        #expect(entries["kafka-property linger.ms"]?.value == "1")
        #expect(entries["kafka-property linger.ms"]?.source == "--kafka-property")
        #expect(entries["kafka-property sasl.password"]?.value == "********")
        #expect(entries["kafka-property sasl.password"]?.source == "JUICE_KAFKA_PROPERTY in the environment")
    }

    @Test(arguments: [
        ("JUICE_WORKER", "JUICE_WORKER is set in the environment, but there is no such setting; did you mean"),
        ("JUICE_COLOUR_OF_THE_SKY", "JUICE_COLOUR_OF_THE_SKY is set in the environment, but there is no such setting"),
    ])
    func unknownVariablesAreErrors(name: String, beginning: String) {
        let failure = #expect(throws: Failure.self) { try entries(environment: [name: "1"]) }
        #expect(failure?.message.hasPrefix(beginning) == true)
        #expect(failure?.status == .configuration)
    }

    /// Kubernetes sets these variables for the services of a namespace.
    @Test func ignoresKubernetesServiceLinks() throws {
        let names = [
            "JUICE_SERVICE_HOST", "JUICE_SERVICE_PORT", "JUICE_SERVICE_PORT_HTTP", "JUICE_PORT", "JUICE_PORT_8080_TCP",
            "JUICE_PORT_8080_TCP_ADDR", "JUICE_METRICS_SERVICE_HOST", "JUICE_METRICS_PORT_80_UDP_PROTO",
        ]
        let entries = try entries(environment: Dictionary(uniqueKeysWithValues: names.map { ($0, "1") }))
        #expect(entries["workers"]?.value == "1")
        #expect(OptionInfo.allNames.allSatisfy { !names.contains(Settings.variable(of: $0)) })
    }
}
