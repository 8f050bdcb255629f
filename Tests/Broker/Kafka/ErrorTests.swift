import CRdKafka
import Foundation
import Logging
import Testing

@testable import Kafka

/// Properties have librdkafka's names, and secrets stay secret.
@Suite struct ConfigurationTests {
    @Test(arguments: [
        ("sasl.password", true), ("ssl.key.password", true), ("ssl.keystore.password", true),
        ("ssl.key.pem", true), ("sasl.oauthbearer.client.secret", true), ("sasl.oauthbearer.config", true),
        ("sasl.oauthbearer.assertion.private.key.passphrase", true),
        ("sasl.oauthbearer.token.endpoint.url", false), ("ssl.key.location", false),
        ("sasl.username", false), ("bootstrap.servers", false), ("client.id", false),
    ])
    func secretsAreKnownByName(name: String, isSecret: Bool) {
        #expect(KafkaConfiguration.isSecret(name) == isSecret)
        #expect("\(KafkaConfiguration([name: "s3cret"]))" == "\(name)=\(isSecret ? "********" : "s3cret")")
    }

    @Test(arguments: [
        ("[thrd:app]:   sasl.oauthbearer.client.secret = s3cret", "[thrd:app]:   sasl.oauthbearer.client.secret = ********"),
        ("[thrd:app]:   client.id = till = 7", "[thrd:app]:   client.id = till = 7"),
        ("[thrd:main]: Group \"g\" assigned", "[thrd:main]: Group \"g\" assigned"),
    ])
    func aLoggedSecretIsHidden(line: String, shown: String) {
        #expect(KafkaConfiguration.hidingSecret(in: line) == shown)
    }

    @Test(arguments: ["no.such.property", "no.such.password", "linger.ms"])
    func aRefusedPropertyIsNamedAndItsValueHidden(name: String) {
        let error = #expect(throws: KafkaError.self) {
            try Producer(configuration: KafkaConfiguration([name: "s3cret"]), hooks: quietHooks)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("\"\(name)\"") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    /// Values that librdkafka quotes are left out, and its own words are not.
    @Test(arguments: [
        (
            ["sasl.mechanism": "hunter2"], "Unsupported SASL mechanism: hunter2",
            "Kafka property \"sasl.mechanism\": Unsupported SASL mechanism"
        ),
        (
            ["ssl.keystore.location": "/hunter2"], "Failed to open ssl.keystore.location: /hunter2: no such file",
            "Failed to open ssl.keystore.location: no such file"
        ),
        (["sasl.password": "hunter2"], "what is hunter2?", "Kafka property \"sasl.password\": what is …?"),
        (
            ["enable.idempotence": "true", "client.id": "true"], "`retries` must be set >= 1 when `enable.idempotence` is true",
            "`retries` must be set >= 1 when `enable.idempotence` is true"
        ),
    ])
    func aRefusalOfPropertiesIsReadable(properties: [String: String], reason: String, shown: String) {
        #expect(KafkaConfiguration(properties).hidingValues(in: reason) == shown)
    }

    /// librdkafka refuses a property that its version does not know, and warns of a consumer's property on a producer.
    @Test func defaultsMatchTheVersionAndMayBeOverridden() throws {
        let given = KafkaConfiguration(["a": "1"]).merging(["a": "2"])
        let (consumer, producer) = (given.completed(for: RD_KAFKA_CONSUMER), given.completed(for: RD_KAFKA_PRODUCER))
        #expect(consumer["a"] == "2")
        #expect(consumer["check.crcs"] == "true")
        #expect(consumer.properties.keys.filter { $0 != "a" }.allSatisfy(KafkaConfiguration.isKnown))
        #expect((consumer["fetch.queue.backoff.ms"] != nil) == KafkaConfiguration.isKnown("fetch.queue.backoff.ms"))
        #expect((producer["enable.metrics.push"] != nil) == KafkaConfiguration.isKnown("enable.metrics.push"))
        #expect(producer["fetch.queue.backoff.ms"] == nil)
    }
}

/// The two remedies of an error.
@Suite struct ErrorTests {
    @Test(arguments: [
        (KafkaError(code: .fenced, isFatal: true), KafkaError.Remedy.startOver),
        (KafkaError(code: .fenced, isFatal: true, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true, requiresAbort: true), .startOver),
        (KafkaError(code: .timedOut, isRetriable: true), .retry),
        (KafkaError(code: .state), .startOver),
    ])
    func retriesOnlyRetriableErrorsWithinTheLimit(error: KafkaError, remedy: KafkaError.Remedy) {
        #expect(error.remedy == remedy)
        var attempts = 0
        #expect(throws: KafkaError.self) {
            try retrying(while: { attempts < 3 }) { () throws(KafkaError) in
                attempts += 1
                throw error
            }
        }
        #expect(attempts == (remedy == .retry ? 3 : 1))
    }

    /// Kafka 3.9 does not name the limit, and librdkafka 2.0.2 names a broker property that does not exist.
    @Test func aLimitOfTheBrokersIsNamedWithThePropertyThatExceedsIt() {
        let session = KafkaError(code: .invalidSessionTimeout).description
        #expect(session.contains("session.timeout.ms") && session.contains("group.max.session.timeout.ms"))
        let transaction = KafkaError(code: .invalidTransactionTimeout).description
        #expect(transaction.contains("refuse transaction.timeout.ms") && transaction.contains("transaction.max.timeout.ms"))
    }
}

/// Messages of librdkafka 2.0.2 and the clearer ones made of them.
@Suite struct ErrorExplainerTests {
    private let explainer = ErrorExplainer()

    /// OpenSSL's verdict on a certificate, 0 for a good one, and how the message that replaces librdkafka's begins.
    @Test(arguments: [
        (0, "SSL handshake failed"), (10, "the broker's certificate has expired"), (9, "the broker's certificate is not valid yet"),
        (19, "the broker's certificate is of no authority that is trusted here"),
        (62, "the broker's certificate is for another host name"), (64, "the broker's certificate is for another host name"),
        (7, "the broker's certificate is not valid (OpenSSL's error 7)"),
    ])
    func aCertificateIsRefusedForAReason(code: Int32, reason: String) {
        explainer.observe(verdict: code)
        let error = explainer.explained(
            KafkaError(
                code: .ssl,
                message: "ssl://kafka:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify"
                    + " failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured"))
        #expect(error.message.hasPrefix(reason))
        #expect(error.broker == "kafka:9093")
        #expect(error.code == .ssl)
    }

    /// Errors, the code that each gets, and what its message contains. A connection that breaks is no refusal.
    @Test(arguments: [
        (KafkaError.Code.transport, "Receive failed: SSL routines::sslv3 alert bad certificate", KafkaError.Code.ssl, "ssl.cert"),
        (.transport, "SSL handshake failed: SSL routines::tlsv1 alert unknown ca", .ssl, "ssl.certificate.location"),
        (.transport, "Disconnected (after 0ms in state APIVERSION_QUERY)", .transport, "hung up at the first request"),
        (.transport, "SSL handshake failed: SSL routines::wrong version number", .ssl, "(see security.protocol)"),
        (.ssl, "SSL handshake failed: SSL routines::unexpected eof while reading", .transport, "(see security.protocol)"),
        (.ssl, "error:0A000126:SSL routines::unexpected eof while reading (after 16ms in state SSL_HANDSHAKE)", .transport, "TLS"),
        (.authentication, "SaslAuthenticateRequest failed: Local: Broker transport failure", .transport, "Sasl"),
        (.authentication, "SASL authentication error: Authentication failed", .authentication, "Authentication failed"),
        (
            .authentication,
            "SASL PLAIN mechanism handshake failed: Broker: Request not valid in current SASL state: broker's supported mechanisms: ",
            .authentication, "the listener wants no SASL"
        ),
        (
            .resolve,
            "Failed to resolve 'kafka:9094': Name or service not known (after 1ms in state CONNECT, 2 identical error(s)"
                + " suppressed)", .resolve, "the name is not resolved (Name or service not known)"
        ),
        (.badMessage, "Receive failed: Invalid response size 352518912 (0..1): increase r", .transport, "speaks TLS"),
        (.badMessage, "Receive failed: Invalid response size -1 (0..1): increase r", .transport, "not Kafka"),
        (
            .transport,
            "Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration"
                + " (connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request)", .transport, "speaks TLS"
        ),
        (
            .transport, "Disconnected: verify that security.protocol is correctly configured, broker might require SASL",
            .transport, "SASL"
        ),
        (
            .timedOut, "ApiVersionRequest failed: Local: Timed out: probably due to broker version < 0.10", .timedOut,
            "nothing comes back"
        ),
        // Tansu 0.6, librdkafka 2.0.2 and 2.1.1.
        (
            .transport,
            "ApiVersionRequest failed: Local: Read underflow: probably due to broker version < 0.10 (see api.version.request"
                + " configuration) (after 4ms in state APIVERSION_QUERY)", .unparsable, "cannot read the broker's answer"
        ),
        (
            .transport, "Connection setup timed out in state CONNECT (after 30000ms in state CONNECT)", .transport,
            "nothing comes back"
        ),
        (.transport, "Disconnected (after 12ms in state UP)", .transport, "the connection broke"),
    ])
    func aFailedConnectionIsExplained(code: KafkaError.Code, words: String, explained: KafkaError.Code, hint: String) {
        for name in ["ssl://kafka:9094/bootstrap", "kafka:9094/7", "GroupCoordinator: kafka:9094"] {
            let error = explainer.explained(KafkaError(code: code, message: "\(name): \(words)"))
            #expect(error.code == explained)
            #expect(error.message.contains(hint) && !error.message.contains("in state"), "\(error.message)")
            #expect(error.broker == "kafka:9094")
        }
    }

    @Test(arguments: [(-1.0, "that this process has loaded expired at "), (1, "the broker wants another client certificate")])
    func explainsARefusedClientCertificate(age: Double, reason: String) {
        explainer.clientCertificateEnd.withLock { $0 = .now + age * 3_600 }
        let error = explainer.explained(
            KafkaError(code: .transport, message: "kafka:9093/1: Receive failed: SSL routines::tlsv13 alert certificate required"))
        #expect(error.message.contains(reason))
        #expect(error.code == .ssl)
    }

    @Test(arguments: ["1/1 brokers are down", "topic orders: Broker: Unknown topic", "Local: Timed out"])
    func leavesOtherErrorsUnchanged(message: String) {
        let error = explainer.explained(KafkaError(code: .allBrokersDown, message: message))
        #expect(error.message == message)
        #expect(error.broker == nil)
    }

    /// The log has the error seconds before the client is polled for errors.
    @Test(
        arguments: [
            ("FAIL", "Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)", "connection refused"),
            (
                "FAIL", "Failed to resolve 'nowhere:1': Name or service not known (after 2ms in state CONNECT)",
                "the name is not resolved (Name or service not known)"
            ),
            (
                "FAIL", "Disconnected while requesting ApiVersion: might be caused by broker version < 0.10",
                "hung up at the first request; perhaps it is not a Kafka port"
            ),
            ("FAIL", "Disconnected (after 4ms in state UP)", nil), ("BRKMAIN", "Connect to x failed: y", nil),
        ] as [(String, String, String?)])
    func aConnectionThatCannotBeMadeIsInTheLog(facility: String, text: String, reason: String?) {
        let error = explainer.observe(facility: facility, line: "[thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: \(text)")
        #expect(error?.message == reason)
        #expect(error?.broker == reason.map { _ in "127.0.0.1:1" })
    }

    @Test func thePartitionThatWasDeniedIsNamed() {
        let denied = KafkaError(
            code: .topicAuthorizationFailed,
            message: "Failed to add partition(s) to transaction on broker TxnCoordinator/1: Broker: Topic"
                + " authorization failed (after 3 ms)", requiresAbort: true)
        #expect(explainer.explained(denied).message == denied.message)
        let line = "Failed to add partition \"juice.stock\" [0] to transaction: Broker: Topic authorization failed"
        let bystander = "Failed to add partition \"juice.results\" [0] to transaction: Broker: Operation not attempted"
        for line in [line, bystander] {
            _ = explainer.observe(facility: "ADDPARTS", line: "[thrd:main]: TxnCoordinator/1: \(line)")
        }
        let error = explainer.explained(denied)
        #expect(error.message == line)
        #expect(error.code == denied.code)
        #expect(error.remedy == .startOver)
    }

    @Test(arguments: [
        (4, "session.timeout.ms is a consumer property and will be ignored by this producer instance", Logger.Level.debug),
        (4, "linger.ms is a producer property and will be ignored by this consumer instance", .debug),
        (4, "request.required.acks is deprecated", .warning), (3, "127.0.0.1:9092/1: Connection refused", .error),
        (7, "Sent MetadataRequest", .debug),
    ])
    func propertiesOfOtherClientsAreNoWarning(syslog: Int32, line: String, level: Logger.Level) {
        #expect(ClientContext.level(syslog: syslog, line: "[thrd:app]: \(line)") == level)
    }

    @Test func namesAFeatureMissingFromTheBuild() {
        let reason = "Configuration property \"x\" not supported in this build: OAuth/OIDC depends on libcurl"
        let error = KafkaError.refusedProperty("x", RD_KAFKA_CONF_INVALID, reason)
        #expect(error.message.hasSuffix("was built without it: OAuth/OIDC depends on libcurl"), "\(error.message)")
        let other = KafkaError.refusedProperty("x", RD_KAFKA_CONF_INVALID, "Invalid value hunter2")
        #expect(other.message == "Kafka property \"x\": its value is refused")
    }

    @Test func aWrongKeyPasswordIsSuspected() {
        let reason = "ssl.key.location failed: error:0A080009:SSL routines::PEM lib"
        #expect(KafkaError.refusedConfiguration(reason).message == "\(reason) (is ssl.key.password right?)")
        #expect(KafkaError.refusedConfiguration("other").message == "other")
    }
}
