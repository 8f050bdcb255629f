import Configuration
import Foundation
import JuiceClient
import Kafka
import Logging
import Testing

@testable import juice

struct SettingsTests {
    /// Creates settings like a command: from options, the environment and a file.
    private func settings(
        flags: [Setting: String] = [:],
        environment: [String: String] = [:],
        file: String? = nil
    ) throws -> Settings {
        guard let file else { return try Settings(flags: flags, file: nil, environment: environment) }
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(file.utf8).write(to: URL(fileURLWithPath: path))
        return try Settings(flags: flags, file: path, environment: environment)
    }

    @Test func optionsWinOverEnvironmentOverFile() throws {
        let file = #"{"group":"from file","instance-id":"from file","workers":4}"#
        let environment = ["JUICE_GROUP": "from environment", "JUICE_INSTANCE_ID": "from environment"]
        let settings = try settings(flags: [.group: "from option"], environment: environment, file: file)
        #expect(settings.string(.group) == "from option")
        #expect(settings.string(.instanceID) == "from environment")
        #expect(try settings.integer(.workers, in: 1...9) == 4)
        #expect(settings.string(.language) == nil)
    }

    @Test func everySettingHasItsVariable() throws {
        for setting in Setting.allCases {
            let settings = try settings(environment: [setting.environmentName: "x"])
            #expect(settings.string(setting) == "x", "\(setting.environmentName)")
        }
        #expect(Setting.kafkaPropertyFile.environmentName == "JUICE_KAFKA_PROPERTY_FILE")
    }

    @Test func anEmptyVariableIsNotSet() throws {
        #expect(try settings(environment: ["JUICE_GROUP": ""]).string(.group) == nil)
    }

    @Test func badValuesNameWhereTheyCameFrom() throws {
        let flag = try settings(flags: [.workers: "many"])
        let variable = try settings(environment: ["JUICE_WORKERS": "many"])
        let file = try settings(file: #"{"workers":"many"}"#)
        let expected: [(Settings, Failure.Status, String)] = [
            (flag, .usage, "--workers must be"), (variable, .configuration, "JUICE_WORKERS in the environment must be"),
            (file, .configuration, "\"workers\" in "),
        ]
        for (settings, status, beginning) in expected {
            let failure = #expect(throws: Failure.self) { try settings.integer(.workers, in: 1...9) }
            #expect(failure?.status == status)
            #expect(failure?.message.hasPrefix(beginning) == true)
            #expect(failure?.message.hasSuffix("must be a whole number, from 1 to 9, not \"many\"") == true)
        }
    }

    @Test(arguments: [
        (#"{"bootstrap-server":"x"}"#, "sets \"bootstrap-server\", but there is no such setting; did you mean bootstrap-servers?"),
        (#"{"colour":"x"}"#, "sets \"colour\", but there is no such setting"),
        (#"{"workers":[1]}"#, "must be a text, a number, true or false"),
        (#"{"workers":null}"#, "must be a text, a number, true or false"), (#"["workers"]"#, "is not a JSON object"),
        (#"{"workers":1"#, "is not a JSON object"),
    ])
    func refusesBadFiles(file: String, fault: String) {
        let failure = #expect(throws: Failure.self) { try settings(file: file) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.hasSuffix(fault) == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: [("true", true), ("1", true), ("YES", true), ("false", false), ("0", false), ("no", false)])
    func readsYesAndNo(text: String, value: Bool) throws {
        #expect(try settings(environment: ["JUICE_WAIT": text]).boolean(.wait) == value)
        #expect(try settings(file: #"{"wait":true}"#).boolean(.wait))
    }

    @Test(arguments: [("10", Duration.seconds(10)), ("0.25", .milliseconds(250))])
    func readsTimeouts(text: String, timeout: Duration) throws {
        #expect(try settings(flags: [.timeout: text]).timeout() == timeout)
    }

    @Test(arguments: ["0", "-1", "nan", "inf", "soon", "1e9"])
    func refusesTimeouts(text: String) throws {
        let settings = try settings(flags: [.timeout: text])
        #expect(throws: Failure.self) { try settings.timeout() }
    }

    // MARK: - Kafka properties

    @Test(arguments: [
        ("a=1", ["a": "1"]), ("a=1,b.c=2", ["a": "1,b.c=2"]), ("a=x,y\nb=2", ["a": "x,y", "b": "2"]),
        ("sasl.password=a,b=c,d", ["sasl.password": "a,b=c,d"]), ("\n a = 1 \n\n# b=2\n", ["a": "1"]),
    ])
    func onlyTheEndOfALineEndsAProperty(text: String, properties: [String: String]) throws {
        #expect(try KafkaProperties.read(settings(environment: ["JUICE_KAFKA_PROPERTY": text])) == properties)
    }

    /// Errors must not quote values, even if a password is in the wrong place.
    @Test(arguments: [
        "hunter2", "linger.ms=1\nhunter2", "security.protocol=SASL_SSL,sasl.password=hunter2",
        "ssl.ca.location=hunter2", "linger.ms=hunter2", "acks=hunter2", "debug=hunter2",
        "partitioner=hunter2", "sasl.password=a\nhunter2=b", "a=hunter2",
        "security.protocol=SSL\nssl.ca.pem=hunter2", "security.protocol=SASL_SSL\nsasl.mechanism=hunter2",
    ])
    func noErrorHasAValue(text: String) throws {
        let places = [
            try settings(environment: ["JUICE_KAFKA_PROPERTY": text]),
            try settings(flags: [.kafkaProperty: text]),
        ]
        for settings in places {
            let failure = #expect(throws: (any Error).self) {
                let properties = try KafkaProperties.read(settings)
                try KafkaProperties.checkNames(properties)
                let configuration = KafkaConfiguration(properties)
                let hooks = ClientHooks(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                _ = try Producer(configuration: configuration, hooks: hooks)
            }
            let text = (failure as? Failure)?.report ?? failure.map { "\($0)" } ?? ""
            #expect(!text.isEmpty && !text.contains("hunter2"))
        }
    }

    @Test func theNearestPropertyWins() throws {
        let settings = try settings(
            flags: [.kafkaProperty: "a=option"], environment: ["JUICE_KAFKA_PROPERTY": "a=environment\nb=environment"],
            file: #"{"kafka-property":{"a":"file","b":"file","c":"file"}}"#)
        #expect(try KafkaProperties.read(settings) == ["a": "option", "b": "environment", "c": "file"])
    }

    @Test func readsPropertyFiles() throws {
        let contents = "# secrets\n\nsasl.username = till\nsasl.password=a=b #c\n"
        #expect(
            try KafkaProperties.parse(contents) { _ in Failure(.software, "") } == [
                "sasl.username": "till", "sasl.password": "a=b #c",
            ])
        let failure = #expect(throws: Failure.self) {
            try KafkaProperties.parse("a=1\nhunter2") { Failure(.configuration, "line \($0)") }
        }
        #expect(failure?.message == "line 2")
    }

    @Test func refusesReservedPropertiesAndHidesValues() throws {
        let reserved = try settings(flags: [.kafkaProperty: "isolation.level=read_uncommitted"])
        let malformed = try settings(environment: ["JUICE_KAFKA_PROPERTY": "hunter2"])
        #expect(throws: Failure.self) { try KafkaProperties.read(reserved) }
        let failure = #expect(throws: Failure.self) { try KafkaProperties.read(malformed) }
        #expect(failure?.message.contains("hunter2") == false)
    }

    @Test func secretsAreRefusedOnTheCommandLineAlone() throws {
        let flag = try settings(flags: [.kafkaProperty: "client.id=a\nsasl.password=hunter2"])
        let failure = #expect(throws: Failure.self) { try KafkaProperties.read(flag) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.hasPrefix("sasl.password must not be on the command line") == true)
        #expect(failure?.report.contains("hunter2") == false)

        let elsewhere = [
            try settings(environment: ["JUICE_KAFKA_PROPERTY": "sasl.password=hunter2"]),
            try settings(file: #"{"kafka-property":{"sasl.password":"hunter2"}}"#),
        ]
        for settings in elsewhere { #expect(try KafkaProperties.read(settings) == ["sasl.password": "hunter2"]) }
    }

    @Test func findsFilesThatCannotBeRead() throws {
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString).pem"
        let properties = ["ssl.ca.location": path]
        let failure = #expect(throws: Failure.self) { try KafkaProperties.check(properties) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message == "ssl.ca.location names a file that cannot be read")

        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data().write(to: URL(fileURLWithPath: path))
        try KafkaProperties.check(properties)
        try KafkaProperties.check(["ssl.ca.location": "probe"])
    }

    @Test func aMistypedPropertyIsSuggested() throws {
        let failure = #expect(throws: Failure.self) {
            try KafkaProperties.checkNames(["sesion.timeout.ms": "1", "linger.ms": "1"])
        }
        #expect(failure?.status == .configuration)
        let beginning = #"there is no Kafka property "sesion.timeout.ms"; did you mean session.timeout.ms"#
        #expect(failure?.message.hasPrefix(beginning) == true, "\(failure?.message ?? "")")
        // Names of the client, of a topic, an alias, and one that librdkafka does not list.
        try KafkaProperties.checkNames([
            "debug": "cgrp", "compression.type": "zstd", "metadata.broker.list": "a", "test.mock.num.brokers": "1",
        ])
    }

    @Test func asksForTheMechanism() throws {
        let failure = #expect(throws: Failure.self) { try KafkaProperties.check(["security.protocol": "SASL_SSL"]) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message == "security.protocol is one of SASL's, which needs a sasl.mechanism")
        try KafkaProperties.check(["security.protocol": "SASL_SSL", "sasl.mechanisms": "PLAIN"])
        try KafkaProperties.check(["security.protocol": "SSL"])
    }

    @Test func readsPropertiesFromAPipe() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("sasl.password=hunter2\n".utf8))
        try pipe.fileHandleForWriting.close()
        let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        let settings = try settings(flags: [.kafkaPropertyFile: path])
        #expect(try KafkaProperties.read(settings) == ["sasl.password": "hunter2"])
    }
}
